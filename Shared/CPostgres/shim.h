#include <dlfcn.h>
#include <postgresql/libpq-fe.h>
/* How the threads of the store wait; Swift's Glibc module leaves them out. */
#include <poll.h>
#include <sys/eventfd.h>

/* The functions of libpq that the store calls. */
/* clang-format off */
#define LIBPQ_FUNCTIONS(DO) \
    DO(PQclear) DO(PQconnectdbParams) DO(PQconsumeInput) DO(PQenterPipelineMode) DO(PQerrorMessage) DO(PQfinish) \
    DO(PQflush) DO(PQfreemem) DO(PQgetResult) DO(PQgetisnull) DO(PQgetlength) DO(PQgetvalue) DO(PQisBusy) \
    DO(PQnotifies) DO(PQntuples) DO(PQpipelineSync) DO(PQresultErrorField) DO(PQresultStatus) DO(PQsendPrepare) \
    DO(PQsendQueryParams) DO(PQsendQueryPrepared) DO(PQsetNoticeReceiver) DO(PQsetnonblocking) DO(PQsocket) DO(PQstatus)
/* clang-format on */

/* Pointers to them. Executables do not link libpq, so that they run without it where the stores are in SQLite. */
struct libpq {
#define LIBPQ_POINTER(name) __typeof__(&name) name;
    LIBPQ_FUNCTIONS(LIBPQ_POINTER)
#undef LIBPQ_POINTER
};

/* Loads libpq and returns a null pointer, or the reason why it cannot be loaded. */
static inline const char *libpq_load(struct libpq *functions) {
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library) return dlerror();
#define LIBPQ_LOAD(name) \
    if (!(functions->name = (__typeof__(&name))dlsym(library, #name))) return dlerror();
    LIBPQ_FUNCTIONS(LIBPQ_LOAD)
#undef LIBPQ_LOAD
    return 0;
}
