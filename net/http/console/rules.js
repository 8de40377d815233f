// Retention rules: as the API has them, as the command line writes them, and in words.

const UNITS = { us: 1, ms: 1e3, s: 1e6, m: 6e7, h: 3.6e9, d: 8.64e10, w: 6.048e11 };

// "maxage=2d or maxversions=3" as the API wants it. Throws a sentence.
export function parseRule(source) {
  const words = source.toLowerCase().match(/[()]|[^\s()]+/g) ?? [];
  if (words.length === 0) throw new Error("Write a rule, as in maxage=30d or maxversions=3; never keeps everything.");
  if (words.length === 1 && (words[0] === "never" || words[0] === "none")) return null;
  let at = 0;
  const rule = parseAny(0);
  if (at < words.length) throw new Error(`"${words[at]}" is not expected there.`);
  return rule;

  function parseAny(depth) {
    if (depth > 16) throw new Error("The rule is nested too deep.");
    const parts = [parsePart(depth)];
    let joint = null;
    while (at < words.length && words[at] !== ")") {
      const word = { "||": "or", "&&": "and" }[words[at]] ?? words[at];
      if (word !== "or" && word !== "and") throw new Error(`"and" or "or" is expected before "${words[at]}".`);
      if (joint && joint !== word) throw new Error("Put parentheses around one of the parts: and is mixed with or.");
      joint = word;
      at++;
      parts.push(parsePart(depth));
    }
    if (parts.length === 1) return parts[0];
    return joint === "or" ? { any_of: parts } : { all_of: parts };
  }
  function parsePart(depth) {
    const word = words[at++];
    if (word === undefined) throw new Error("The rule ends too early.");
    if (word === "(") {
      const inner = parseAny(depth + 1);
      if (words[at++] !== ")") throw new Error("A parenthesis is not closed.");
      return inner;
    }
    const match = word.match(/^(max_?age|max_?versions)=(\d+)([a-z]*)$/);
    if (!match) throw new Error(`"${word}" is neither maxage=… nor maxversions=….`);
    const number = Number(match[2]);
    if (match[1].endsWith("versions")) {
      if (match[3] || number < 1) throw new Error("maxversions= takes a number from 1.");
      return { max_versions: number };
    }
    const unit = UNITS[match[3]];
    if (!unit) throw new Error("An age needs a unit: us ms s m h d w, as in maxage=30d.");
    return { max_age_us: number * unit };
  }
}

// "1h", "90m", "2d3h" in microseconds. Throws a sentence.
export function parseAge(source) {
  const parts = source.trim().toLowerCase().match(/\d+[a-z]+/g) ?? [];
  const us = parts.reduce((sum, part) => sum + Number(part.match(/\d+/)[0]) * (UNITS[part.match(/[a-z]+/)[0]] ?? NaN), 0);
  if (parts.join("") !== source.trim().toLowerCase().replaceAll(" ", "") || !(us > 0)) throw new Error("A duration is a number with a unit: us ms s m h d w, as in 1h.");
  return us;
}

// The age at which a rule kills by age alone; null: at none.
export function killsAtAge(rule) {
  if (rule === null || rule.max_versions) return null;
  if (rule.max_age_us) return rule.max_age_us;
  const ages = (rule.any_of ?? rule.all_of).map(killsAtAge);
  if (rule.all_of) return ages.includes(null) ? null : Math.max(...ages);
  const some = ages.filter((age) => age !== null);
  return some.length === 0 ? null : Math.min(...some);
}

export function ruleText(rule, inner = false) {
  if (rule === null) return "never";
  if ("max_age_us" in rule) return `maxage=${age(rule.max_age_us)}`;
  if ("max_versions" in rule) return `maxversions=${rule.max_versions}`;
  const any = "any_of" in rule;
  const text = (any ? rule.any_of : rule.all_of).map((part) => ruleText(part, true)).join(any ? " or " : " and ");
  return inner ? `(${text})` : text;
}

export function age(us) {
  for (const unit of ["w", "d", "h", "m", "s", "ms"]) {
    if (us % UNITS[unit] === 0 && !(unit === "w" && us / UNITS.w < 2)) return `${us / UNITS[unit]}${unit}`;
  }
  return `${us}us`;
}

function longAge(us) {
  const names = [["d", "day"], ["h", "hour"], ["m", "minute"], ["s", "second"], ["ms", "millisecond"]];
  for (const [unit, name] of names) {
    if (us % UNITS[unit] === 0) {
      const n = us / UNITS[unit];
      return `${n} ${name}${n === 1 ? "" : "s"}`;
    }
  }
  return `${us} microseconds`;
}

// "Keeps everything." "Keeps cells for 30 days." "Keeps the newest 3 versions of a column." ...
export function ruleWords(rule) {
  if (rule === null) return "Keeps everything.";
  if ("max_age_us" in rule) return `Keeps cells for ${longAge(rule.max_age_us)}.`;
  if ("max_versions" in rule) {
    return rule.max_versions === 1 ? "Keeps the newest version of a column."
      : `Keeps the newest ${rule.max_versions} versions of a column.`;
  }
  return `A cell dies once ${condition(rule, true)}.`;
}
function condition(rule, outer = false) {
  if ("max_age_us" in rule) return `it is older than ${longAge(rule.max_age_us)}`;
  if ("max_versions" in rule) {
    return rule.max_versions === 1 ? "a newer version is there" : `${rule.max_versions} newer versions are there`;
  }
  const any = "any_of" in rule;
  const parts = (any ? rule.any_of : rule.all_of).map((part) => condition(part));
  const text = parts.join(any ? ", or " : " and ");
  return outer ? text : `(${text})`;
}
