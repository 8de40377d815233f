/* The entry of libcellar_cluster.so, the only file that is linked with librados: a table of C
 * functions. No object of C++ passes, so that the program and the module share no code and need
 * not be built by the same compiler.
 *
 * A program refuses a module of another CELLAR_CLUSTER_ABI. Change the number with the structures.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CELLAR_CLUSTER_ABI 1
#define CELLAR_CLUSTER_ENTRY "cellar_cluster_entry"

typedef struct CellarBytes {
  const char* data;
  size_t size;
} CellarBytes;

/* One guard or change of a write; `kind` is RadosStep::Kind. */
typedef struct CellarStep {
  uint32_t kind;
  uint64_t offset;
  CellarBytes key;
  CellarBytes value;
} CellarStep;

/* One operation. The caller owns it; it stays in place from submit() to release(). */
typedef struct CellarOperation {
  /* Set by the caller, before submit(). */
  uint32_t kind; /* RadosRequest::Kind */
  const char* object;
  const CellarStep* steps;
  size_t step_count;
  uint64_t offset;
  size_t size;       /* read: bytes; omap: entries */
  char* buffer;      /* read: room for `size` bytes */
  int any_replica;   /* read */
  const char* after; /* omap; the key is a C string */
  const CellarBytes* keys;
  size_t key_count;
  /* Called once, on a thread of librados, when the operation is over. It must not block. */
  void (*done)(struct CellarOperation* operation);
  void* context;
  /* Set by the module, before done(). */
  int result;           /* 0 or -errno */
  size_t bytes_read;    /* read */
  uint64_t object_size; /* stat */
  int more;             /* omap */
  void* module_state;
} CellarOperation;

typedef struct CellarSetting {
  const char* name;
  const char* value;
} CellarSetting;

typedef struct CellarHandle CellarHandle;
typedef struct CellarPool CellarPool;

/* All functions return 0 or -errno. "Blocks": only on a thread that may wait. */
typedef struct CellarClusterApi {
  uint32_t abi;
  const char* library; /* "librados 3.0.0" */
  /* Blocks. `config_file` may be null. `error` gets a sentence if the result is not 0. */
  int (*open)(const char* client, const char* config_file, const CellarSetting* settings,
              size_t setting_count, CellarHandle** handle, char* error, size_t error_size);
  /* Blocks. REQUIRES: all pools are closed. */
  void (*close)(CellarHandle* handle);
  /* Blocks. */
  int (*open_pool)(CellarHandle* handle, const char* pool, const char* name_space,
                   CellarPool** opened);
  void (*close_pool)(CellarPool* pool);
  /* If the result is not 0, done() is not called. */
  int (*submit)(CellarPool* pool, CellarOperation* operation);
  /* Ends an operation early: done() comes soon, with a result that says nothing. */
  void (*cancel)(CellarPool* pool, CellarOperation* operation);
  /* The next pair of an xattrs or omap operation that is over; 0 at the end. The bytes live until
   * release(). */
  int (*next_pair)(CellarOperation* operation, CellarBytes* key, CellarBytes* value);
  /* Frees what the module keeps for an operation that is over. */
  void (*release)(CellarOperation* operation);
  /* Blocks. Calls name() for each object of the pool's namespace; a result other than 0 ends the
   * listing. */
  int (*list)(CellarPool* pool, int (*name)(void* context, CellarBytes name), void* context);
} CellarClusterApi;

/* The module's only exported symbol. */
typedef const CellarClusterApi* (*CellarClusterEntry)(void);

#ifdef __cplusplus
}
#endif
