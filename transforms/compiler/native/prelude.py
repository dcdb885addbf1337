"""The C text that every kernel begins with: NumPy's arrays as C sees them, memory, sums, and the maths that C lacks."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "BLAS", "CHOLESKY", "CUT", "ENTRY", "FLOATS", "FRAME", "HEAD", "LOCK", "LU", "MATHS",
    "NOTHING", "PRODUCT", "ROOM", "ROWS", "STACKS", "SUMS", "VECTORS", "declared", "prelude",
]  # fmt: skip

VECTORS = {  # the functions of the C library that have forms for vectors, and how many arguments they take
    name: count
    for count, names in enumerate(
        (
            "exp log sin cos tan exp2 expm1 log2 log10 log1p sinh cosh tanh cbrt asin acos atan asinh acosh atanh",
            "pow hypot atan2",
        ),
        1,
    )
    for name in names.split()
}

HEAD = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
"""

PARTS = r"""
#define JOINED(a, b) a##_##b
#define JOIN(a, b) JOINED(a, b)
"""

PYTHON = r"""
/* Python and NumPy: what a kernel needs of their binary interface */
typedef struct _object PyObject;
typedef struct { char *data; int nd; int64_t *dims, *strides; PyObject *base, *descr; int flags; } Array;
#define ARRAY(o) ((Array *)((char *)(o) + st->head))
#define TYPE(o) (*(PyObject **)((char *)(o) + st->type_at))
extern void Py_IncRef(PyObject *), Py_DecRef(PyObject *);
extern PyObject *PyTuple_New(int64_t), *PyList_New(int64_t), *PyDict_New(void), *PyTuple_GetItem(PyObject *, int64_t),
    *PyList_GetItem(PyObject *, int64_t), *PyDict_GetItem(PyObject *, PyObject *), *PyFloat_FromDouble(double),
    *PyLong_FromLongLong(long long), *PyBool_FromLong(long), *PyErr_Occurred(void),
    *PyObject_GetAttr(PyObject *, PyObject *), *PySequence_GetItem(PyObject *, int64_t),
    *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
extern int PyTuple_SetItem(PyObject *, int64_t, PyObject *), PyList_SetItem(PyObject *, int64_t, PyObject *),
    PyList_Append(PyObject *, PyObject *), PyList_Reverse(PyObject *), PyDict_SetItem(PyObject *, PyObject *, PyObject *),
    PyObject_IsTrue(PyObject *), PyErr_CheckSignals(void), PyErr_ExceptionMatches(PyObject *),
    PyContextVar_Get(PyObject *, PyObject *, PyObject **);
extern int64_t PyList_Size(PyObject *);
extern void PyErr_Clear(void), *PyLong_AsVoidPtr(PyObject *), *PyEval_SaveThread(void), PyEval_RestoreThread(void *);
extern double PyFloat_AsDouble(PyObject *);
extern long long PyLong_AsLongLong(PyObject *);
extern PyObject *PyExc_Exception;
typedef PyObject *(*make_array)(PyObject *, int, int64_t *, int, int64_t *, void *, int, int, PyObject *);
typedef PyObject *(*make_scalar)(void *, PyObject *, PyObject *);

/* lengths that follow from values, of the calls that were checked: rows of them, behind those of the arguments; the last row */
typedef struct { int64_t n, *rows, *last; } Lengths;

typedef struct {
    int64_t head, type_at;          /* where an object's own fields, and its type, begin */
    PyObject *array_type;
    make_array array;
    make_scalar scalar;
    PyObject *descr[4];             /* of float64, float32, int64, bool */
    int64_t number[4];              /* NumPy's numbers of these dtypes */
    PyObject *errors, *usual;       /* the context variable of np.errstate, and its value by default */
    PyObject *fallback, **calls, **constants;
    uint8_t *seen;                  /* the arms that a checked call has taken */
    int64_t *hits;                  /* the calls that ended in each return */
    int64_t probing;
    void *gemm[2], *gemv[2], *trsm[2]; /* of NumPy's BLAS, for doubles and floats, or NULL */
    int64_t wide;                   /* whether its ints have 64 bits */
    void *shared;                   /* shares chunks of loops among threads, or NULL */
    int64_t *kept;                  /* bytes that all kernels keep for their next calls */
    Lengths *lengths;
} State;

enum { D, F, L, B };
"""

LENGTHS = r"""
static int checked_lengths(const State *st, int width, const int64_t *row)
{   /* Python adds rows, and never frees those that a call may look at */
    const int64_t n = __atomic_load_n(&st->lengths->n, __ATOMIC_ACQUIRE);
    const int64_t *rows = __atomic_load_n(&st->lengths->rows, __ATOMIC_ACQUIRE);
    for (int64_t k = 0; k < n; k++) if (!memcmp(rows + k * width, row, sizeof(int64_t) * width)) return 1;
    if (st->probing) memcpy(st->lengths->last, row, sizeof(int64_t) * width);
    return st->probing != 0;
}
"""

STACKS = r"""
/* what a loop remembers: rows of numbers, of arrays (their place and lengths), or of stacks; arrays lie in chunks that stay */
typedef struct { int64_t n, room, width, *rows; char *chunk; int64_t used, cap, depth; } Stack;
static void clear_stack(Stack *s)
{
    if (s->depth) for (int64_t k = 0; k < s->n; k++) clear_stack((Stack *)s->rows + k);
    for (char *c = s->chunk, *before; c; c = before) { before = *(char **)c; free(c); }
    free(s->rows);
    memset(s, 0, sizeof *s);
}
static void empty_stack(Stack *s, int64_t depth)
{   /* for another loop, which finds the memory of the last */
    if (s->depth) clear_stack(s);
    for (char *c = s->chunk ? *(char **)s->chunk : 0, *before; c; c = before) { before = *(char **)c; free(c); }
    if (s->chunk) { *(char **)s->chunk = 0; s->used = 64; }
    s->n = 0;
    s->depth = depth;
}
static void *new_row(Stack *s, int64_t width)
{
    if (s->n == s->room) {
        int64_t room = s->room ? 2 * s->room : 64;
        int64_t *rows = room < (int64_t)1 << 40 ? realloc(s->rows, (size_t)(8 * width * room)) : 0;
        if (!rows) return 0;
        s->rows = rows;
        s->room = room;
        s->width = width;
    }
    return s->rows + width * s->n++;
}
static void *new_item(Stack *s, int nd, const int64_t *dims, int64_t size)
{
    for (int k = 0; k < nd; k++) size *= dims[k];
    size = (size + 127) / 64 * 64;
    if (s->used + size > s->cap || !s->chunk) {
        int64_t most = (int64_t)1 << 26, cap = 2 * s->cap < most ? 2 * s->cap : most;
        cap = cap > size + 64 ? cap : size + 64;
        cap = cap > 4096 ? (cap + 63) / 64 * 64 : 4096;
        char *c = aligned_alloc(64, (size_t)cap);
        if (!c) return 0;
        *(char **)c = s->chunk;
        ((int64_t *)c)[1] = cap;
        s->chunk = c;
        s->used = 64;
        s->cap = cap;
    }
    int64_t *row = new_row(s, 1 + nd);
    if (!row) return 0;
    char *p = s->chunk + s->used;
    s->used += size;
    row[0] = (int64_t)p;
    for (int k = 0; k < nd; k++) row[k + 1] = dims[k];
    return p;
}
static inline void turn_stack(Stack *s, int64_t width)
{
    for (int64_t i = 0, j = s->n - 1; i < j; i++, j--)
        for (int64_t k = 0; k < width; k++) {
            int64_t x = s->rows[i * width + k];
            s->rows[i * width + k] = s->rows[j * width + k];
            s->rows[j * width + k] = x;
        }
}
"""

ROWS = r"""
static inline int64_t rows_of(int64_t each, int64_t most, int64_t least)
{   /* how many there are in a chunk, of the operations of each and of most of them */
    int64_t n = each > 0 ? most / each : most;
    return n > least ? n : least;
}
"""

THREADS = r"""
/* loops of which threads share the chunks, which are the same for any number of threads; few are not worth waking them */
#ifndef FEW
#define FEW 3
#endif
typedef void Loop(const void *of, int64_t k, int64_t from, int64_t to);
static void loop_alone(Loop *loop, const void *of, int64_t n, int64_t chunk)
{
    for (int64_t k = 0, from = 0; from < n; k++, from += chunk) loop(of, k, from, from + chunk < n ? from + chunk : n);
}
static inline void share(const State *st, Loop *loop, const void *of, int64_t n, int64_t chunk)
{
    if (n <= chunk) { if (n > 0) loop(of, 0, 0, n); }
    else if (n / FEW <= chunk || !st->shared) loop_alone(loop, of, n, chunk);
    else ((void (*)(Loop *, const void *, int64_t, int64_t))st->shared)(loop, of, n, chunk);
}
#if defined __has_include
#if __has_include(<pthread.h>)
#include <pthread.h>
#include <signal.h>
#if defined __x86_64__
#define PAUSE() __builtin_ia32_pause()
#elif defined __aarch64__
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE()
#endif
#define NOW(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define SPIN(test) for (int i = 0; i < 2000 && (test); i++) PAUSE();   /* some 30 microseconds: a sleep costs as much */
/* the pool of the process is that of the first kernel that was loaded; no thread of it knows of Python */
static struct {
    pthread_mutex_t busy, lock;     /* held while a loop is shared or the process forks; for the fields below */
    pthread_cond_t go, done;
    pthread_t thread[256];
    int64_t size, started, running; /* threads beside the one that calls: how many there may be, are, and are at work */
    int64_t open, stop;             /* whether there may be chunks for one more; whether all are to end */
    Loop *loop;
    const void *of;
    int64_t n, chunk, next;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static void pool_works(void)
{
    Loop *loop = pool.loop;
    const void *of = pool.of;
    int64_t n = pool.n, chunk = pool.chunk;
    for (;;) {
        int64_t k = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED), from = k * chunk;
        if (from >= n) return;
        loop(of, k, from, from + chunk < n ? from + chunk : n);
    }
}
static void *pool_thread(void *unused)
{
    for (;;) {
        SPIN(!NOW(pool.open) && !NOW(pool.stop))
        pthread_mutex_lock(&pool.lock);
        while (!pool.open && !pool.stop) pthread_cond_wait(&pool.go, &pool.lock);
        int64_t stop = pool.stop;
        if (!stop) SET(pool.running, pool.running + 1);
        pthread_mutex_unlock(&pool.lock);
        if (stop) return 0;
        pool_works();
        pthread_mutex_lock(&pool.lock);
        SET(pool.open, 0);
        SET(pool.running, pool.running - 1);
        if (!pool.running) pthread_cond_signal(&pool.done);
        pthread_mutex_unlock(&pool.lock);
    }
}
static void pool_starts(void)
{   /* signals are for Python's threads */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.started < pool.size && !pthread_create(&pool.thread[pool.started], 0, pool_thread, 0)) pool.started++;
    pool.size = pool.started;
    pthread_sigmask(SIG_SETMASK, &before, 0);
}
static void pool_ends(void)
{
    pthread_mutex_lock(&pool.lock);
    SET(pool.stop, 1);
    pthread_cond_broadcast(&pool.go);
    pthread_mutex_unlock(&pool.lock);
    while (pool.started) pthread_join(pool.thread[--pool.started], 0);
    SET(pool.stop, 0);
}
void pool_shares(Loop *loop, const void *of, int64_t n, int64_t chunk)
{
    if (pthread_mutex_trylock(&pool.busy)) { loop_alone(loop, of, n, chunk); return; }  /* another kernel has the pool */
    if (pool.started < pool.size) pool_starts();
    pthread_mutex_lock(&pool.lock);
    pool.loop = loop; pool.of = of; pool.n = n; pool.chunk = chunk; pool.next = 0;
    SET(pool.open, 1);
    int64_t chunks = (n + chunk - 1) / chunk;
    for (int64_t k = 1; k < chunks && k <= pool.started; k++) pthread_cond_signal(&pool.go);
    pthread_mutex_unlock(&pool.lock);
    pool_works();
    SPIN(NOW(pool.running))
    pthread_mutex_lock(&pool.lock);
    SET(pool.open, 0);
    while (pool.running) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.busy);
}
void pool_holds(int64_t size)
{   /* before a fork, and for another number of threads: nobody shares until `pool_goes_on` */
    pthread_mutex_lock(&pool.busy);
    pool_ends();
    if (size >= 0) pool.size = size < 256 ? size : 256;
}
void pool_goes_on(void) { pthread_mutex_unlock(&pool.busy); }
#endif
#endif
"""

NOTHING = r"""
static int64_t nothing[1];          /* what an array is that nobody reads */
"""

FRAME = r"""
typedef struct {
    void **slot;
    int64_t *cap;
    PyObject **o;
    Stack *stacks;
    int64_t used;
    char *store;
    char *spare;                    /* memory that an earlier call has left, or NULL */
    int64_t room, taken, asked;     /* its bytes, those of it that are taken, and all that this call has asked for */
    void *away;                     /* the thread, while it is without Python's lock */
    int64_t since;
} Frame;
#define STORE 8192
"""

LOCK = r"""
/* Python's lock: let go of once a kernel has worked for long, and taken back before a line that needs it */
#include <time.h>
#define LONG 50000                  /* of what takes about a nanosecond each */
#define WORK(n) if ((work += (n)) > LONG) { work = 0; if (asked(f)) goto stop; }
static inline void back(Frame *f)
{
    if (f->away) { PyEval_RestoreThread(f->away); f->away = 0; }
}
static __attribute__((noinline)) int asked(Frame *f)
{   /* whether a signal ends the call; it is looked for only so often that a thread that holds the lock costs little */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = t.tv_sec * 1000000000LL + t.tv_nsec;
    if (f->away) {
        if (now - f->since < 40000000) return 0;
        back(f);
    }
    if (PyErr_CheckSignals()) return 1;
    f->since = now;
    f->away = PyEval_SaveThread();
    return 0;
}
"""

ROOM = r"""
static int is_lent(const Frame *f, const char *p)
{   /* memory that nobody frees by itself */
    if (f->spare && p >= f->spare && p < f->spare + f->room) return 1;  /* for calls */
    return p >= f->store && p < f->store + STORE;
}
static void *room(Frame *f, int k, int64_t bytes)
{
    if (f->slot[k] && f->cap[k] >= bytes) return f->slot[k];
    if (f->slot[k] && !is_lent(f, f->slot[k])) free(f->slot[k]);
    bytes = (bytes + 127) / 64 * 64;
    f->cap[k] = bytes;
    if (f->used + bytes <= STORE) { f->slot[k] = f->store + f->used; f->used += bytes; return f->slot[k]; }
    f->asked += bytes;  /* for calls */
    if (f->taken + bytes <= f->room) { f->taken += bytes; return f->slot[k] = f->spare + f->taken - bytes; }  /* for calls */
    return f->slot[k] = malloc(bytes);
}
"""

KEPT = r"""
/* memory that the next call finds, since the system takes long to give it; calls at once have their own */
#ifndef KEEP
#define KEEP ((int64_t)1 << 26)     /* bytes of all kernels */
#endif
static void *left_behind;
static void lend(Frame *f)
{
    f->spare = __atomic_exchange_n(&left_behind, 0, __ATOMIC_ACQ_REL);
    f->room = f->spare ? *(int64_t *)f->spare : 0;
    f->taken = 64;
}
static void drop(const State *st, char *p)
{
    if (p) __atomic_sub_fetch(st->kept, *(int64_t *)p, __ATOMIC_RELAXED);
    free(p);
}
static void keep(const State *st, Frame *f)
{
    int64_t bytes = f->asked + 64, more = bytes - f->room;
    if (more > 0 && f->asked && __atomic_add_fetch(st->kept, more, __ATOMIC_RELAXED) > KEEP) {
        __atomic_sub_fetch(st->kept, more, __ATOMIC_RELAXED);
    } else if (more > 0 && f->asked) {
        free(f->spare);
        f->spare = aligned_alloc(64, (size_t)bytes);
        if (f->spare) *(int64_t *)f->spare = bytes; else __atomic_sub_fetch(st->kept, bytes, __ATOMIC_RELAXED);
    }
    if (f->spare) drop(st, __atomic_exchange_n(&left_behind, f->spare, __ATOMIC_ACQ_REL));
}

/* and what a loop remembers: the rows of a stack, and its last chunk of arrays; how long they are stands at their beginning */
#ifndef KEPT_FROM
#define KEPT_FROM (1 << 16)
#endif
typedef struct { int64_t *rows, *chunk; } Left;
static int64_t lend_stack(Stack *s, Left *left)
{   /* it gives the bytes, which are counted as kept: the stack may be moved to another by the end */
    int64_t lent = 0;
    int64_t *rows = __atomic_exchange_n(&left->rows, 0, __ATOMIC_ACQ_REL);
    int64_t *chunk = __atomic_exchange_n(&left->chunk, 0, __ATOMIC_ACQ_REL);
    memset(s, 0, sizeof *s);
    if (rows) { s->rows = rows; s->width = rows[0]; s->room = rows[1] / (8 * s->width); lent += rows[1]; }
    if (chunk) { s->chunk = (char *)chunk; s->cap = chunk[1]; s->used = 64; lent += s->cap; }
    return lent;
}
static int leave_block(const State *st, int64_t **place, int64_t *block, int64_t first, int64_t bytes)
{   /* whether the next call is to find it: not what is small, nor what is too much for all kernels */
    if (!block || bytes < KEPT_FROM) return 0;
    if (__atomic_add_fetch(st->kept, bytes, __ATOMIC_RELAXED) > KEEP) {
        __atomic_sub_fetch(st->kept, bytes, __ATOMIC_RELAXED);
        return 0;
    }
    block[0] = first;
    block[1] = bytes;
    block = __atomic_exchange_n(place, block, __ATOMIC_ACQ_REL);
    if (block) { __atomic_sub_fetch(st->kept, block[1], __ATOMIC_RELAXED); free(block); }
    return 1;
}
static void leave_stack(const State *st, Stack *s, Left *left, int64_t lent)
{
    char *before = s->chunk ? *(char **)s->chunk : 0;
    if (lent) __atomic_sub_fetch(st->kept, lent, __ATOMIC_RELAXED);
    if (!s->depth && leave_block(st, &left->rows, s->rows, s->width, 8 * s->room * s->width)) s->rows = 0;
    if (!s->depth && leave_block(st, &left->chunk, (int64_t *)s->chunk, 0, s->cap)) s->chunk = before;
    clear_stack(s);
}
"""

OBJECTS = r"""
static inline void hold(Frame *f, int k, PyObject *o) { PyObject *old = f->o[k]; f->o[k] = o; if (old) Py_DecRef(old); }
static inline PyObject *again(PyObject *o) { Py_IncRef(o); return o; }
static int on_stack(const Stack *s, void *p)
{
    for (char *c = s->chunk; c; c = *(char **)c) if ((char *)p >= c && (char *)p < c + ((int64_t *)c)[1]) return 1;
    if (s->depth) for (int64_t k = 0; k < s->n; k++) if (on_stack((const Stack *)s->rows + k, p)) return 1;
    return 0;
}
static inline int within(Frame *f, int n, int stacks, void *p)
{
    for (int k = 0; k < n; k++)
        if (f->slot[k] && (char *)p >= (char *)f->slot[k] && (char *)p < (char *)f->slot[k] + f->cap[k]) return 1;
    for (int k = 0; k < stacks; k++) if (on_stack(f->stacks + k, p)) return 1;
    return 0;
}
static inline PyObject *is_array(const State *st, PyObject *o, int dtype, int nd)
{   /* NULL where it is none, or one of another dtype, or not aligned */
    if (TYPE(o) != st->array_type || ARRAY(o)->nd != nd || ARRAY(o)->descr != st->descr[dtype]) return 0;
    int64_t size = dtype == B ? 1 : dtype == F ? 4 : 8;
    if ((uintptr_t)ARRAY(o)->data % size) return 0;
    for (int k = 0; k < nd; k++) if (ARRAY(o)->strides[k] % size) return 0;
    return o;
}
static PyObject *boxed(const State *st, int dtype, void *p, int nd, const int64_t *dims, const int64_t *strides)
{   /* an array on memory of the kernel */
    int64_t d[32], s[32], size = dtype == B ? 1 : dtype == F ? 4 : 8;
    for (int k = 0; k < nd; k++) { d[k] = dims[k]; s[k] = strides[k] * size; }
    return st->array(st->array_type, nd, d, (int)st->number[dtype], s, p, 0, 0x500, 0);
}
static PyObject *fresh(const State *st, int dtype, int nd, const int64_t *dims, const int64_t *strides)
{
    int64_t d[32], s[32], size = dtype == B ? 1 : dtype == F ? 4 : 8;
    for (int k = 0; k < nd; k++) { d[k] = dims[k]; s[k] = strides ? strides[k] * size : 0; }
    return st->array(st->array_type, nd, d, (int)st->number[dtype], strides ? s : 0, 0, 0, 0, 0);
}
static void *new_array(const State *st, Frame *f, int k, int dtype, int nd, const int64_t *dims, const int64_t *strides)
{
    hold(f, k, fresh(st, dtype, nd, dims, strides));
    return f->o[k] ? ARRAY(f->o[k])->data : 0;
}
static PyObject *scalar(const State *st, int dtype, double d, int64_t l)
{
    float f = (float)d; uint8_t b = l != 0;
    void *p = dtype == D ? (void *)&d : dtype == F ? (void *)&f : dtype == L ? (void *)&l : (void *)&b;
    return st->scalar(p, st->descr[dtype], 0);
}
static PyObject *array_of_one(const State *st, int dtype, double d, int64_t l)
{
    PyObject *o = fresh(st, dtype, 0, 0, 0);
    if (!o) return 0;
    void *p = ARRAY(o)->data;
    if (dtype == D) *(double *)p = d; else if (dtype == F) *(float *)p = (float)d;
    else if (dtype == L) *(int64_t *)p = l; else *(uint8_t *)p = l != 0;
    return o;
}
"""

SUMS = r"""
/* sums of blocks, added in pairs, pairs of pairs and so on */
#define SUMS(T, s) \
typedef struct { int64_t n; T v[56]; } sums_##s; \
static inline void add_##s(sums_##s *a, T x) \
{ \
    int k = 0; \
    for (int64_t m = a->n; m & 1; m >>= 1) x = a->v[k++] + x; \
    a->v[k] = x; \
    a->n++; \
} \
static inline T ended_##s(const sums_##s *a, T x, int any) \
{   /* with what is left behind the last */ \
    int k = 0; \
    for (int64_t m = a->n; m; m >>= 1, k++) \
        if (m & 1) { x = any ? a->v[k] + x : a->v[k]; any = 1; } \
    return x; \
} \
static inline T total_##s(const sums_##s *a) { return ended_##s(a, 0, 0); } \
static inline T summed_##s(const T *x, int64_t n, int left) \
{   /* of chunks, of which the last may be a shorter one */ \
    sums_##s a; a.n = 0; \
    if (n < 2) return n ? *x : 0; \
    for (int64_t k = 0; k < n - left; k++) add_##s(&a, x[k]); \
    return ended_##s(&a, x[n - 1], left); \
}
SUMS(double, d)
SUMS(float, f)
SUMS(int64_t, l)
"""

CUT = r"""
static inline void cut(
    int64_t n, int from, int64_t start, int to, int64_t stop, int64_t step, int64_t *first, int64_t *length)
{   /* a slice of n places */
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    if (start < 0) start += n;
    if (stop < 0) stop += n;
    start = !from ? (step < 0 ? high : low) : start < low ? low : start > high ? high : start;
    stop = !to ? (step < 0 ? low : high) : stop < low ? low : stop > high ? high : stop;
    *first = start;
    *length = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0) : start > stop ? (start - stop - 1) / -step + 1 : 0;
}
"""

PRODUCT = r"""
/* matrix products, of which rows times a vector, and columns times one, run along what lies together */
#define PRODUCT(T, s) \
static void product_##s( \
    T *restrict c, int64_t m, int64_t k, int64_t n, const T *a, int64_t am, int64_t ak, const T *b, int64_t bk, int64_t bn) \
{ \
    if (n == 1 && ak == 1 && bk == 1) { \
        for (int64_t i = 0; i < m; i++) { \
            T x = 0; \
            const T *r = a + i * am; \
            _Pragma("omp simd reduction(+:x)") for (int64_t j = 0; j < k; j++) x += r[j] * b[j]; \
            c[i] = x; \
        } \
        return; \
    } \
    for (int64_t i = 0; i < m * n; i++) c[i] = 0; \
    if (n == 1 && am == 1) { \
        for (int64_t j = 0; j < k; j++) { \
            T y = b[j * bk]; \
            const T *r = a + j * ak; \
            _Pragma("omp simd") for (int64_t i = 0; i < m; i++) c[i] += r[i] * y; \
        } \
        return; \
    } \
    for (int64_t i = 0; i < m; i++) { \
        T *restrict r = c + i * n; \
        for (int64_t q = 0; q < k; q++) { \
            T x = a[i * am + q * ak]; \
            const T *y = b + q * bk; \
            if (bn == 1) { _Pragma("omp simd") for (int64_t j = 0; j < n; j++) r[j] += x * y[j]; } \
            else for (int64_t j = 0; j < n; j++) r[j] += x * y[j * bn]; \
        } \
    } \
}
PRODUCT(double, d)
PRODUCT(float, f)
"""

LU = r"""
/* small systems by elimination with row pivots, as LAPACK; 0 where a pivot is zero or a number not finite: that is NumPy's */
#define LU(T, s) \
static int lu_##s(T *restrict m, T *restrict b, int64_t n, int64_t columns, int *sign) \
{ \
    for (int64_t i = 0; i < n * n; i++) if (!(m[i] - m[i] == 0)) return 0; \
    for (int64_t i = 0; i < n * columns; i++) if (!(b[i] - b[i] == 0)) return 0; \
    *sign = 1; \
    for (int64_t k = 0; k < n; k++) { \
        int64_t p = k; \
        for (int64_t i = k + 1; i < n; i++) \
            if ((m[i * n + k] < 0 ? -m[i * n + k] : m[i * n + k]) > (m[p * n + k] < 0 ? -m[p * n + k] : m[p * n + k])) p = i; \
        if (m[p * n + k] == 0) return 0; \
        if (p != k) { \
            *sign = -*sign; \
            for (int64_t j = 0; j < n; j++) { T x = m[p * n + j]; m[p * n + j] = m[k * n + j]; m[k * n + j] = x; } \
            for (int64_t j = 0; j < columns; j++) \
                { T x = b[p * columns + j]; b[p * columns + j] = b[k * columns + j]; b[k * columns + j] = x; } \
        } \
        for (int64_t i = k + 1; i < n; i++) { \
            T f = m[i * n + k] /= m[k * n + k]; \
            for (int64_t j = k + 1; j < n; j++) m[i * n + j] -= f * m[k * n + j]; \
            for (int64_t j = 0; j < columns; j++) b[i * columns + j] -= f * b[k * columns + j]; \
        } \
        if (!(m[k * n + k] - m[k * n + k] == 0)) return 0; \
    } \
    for (int64_t k = n - 1; k >= 0; k--) for (int64_t j = 0; j < columns; j++) { \
        T x = b[k * columns + j]; \
        for (int64_t i = k + 1; i < n; i++) x -= m[k * n + i] * b[i * columns + j]; \
        b[k * columns + j] = x / m[k * n + k]; \
    } \
    return 1; \
}
LU(double, d)
LU(float, f)
"""

CHOLESKY = r"""
#define CHOLESKY(T, s) \
static int triangle_##s(const T *restrict m, T *restrict b, int64_t n, int64_t columns, int turned, int lower) \
{ \
    int64_t down = turned ? 1 : n, across = turned ? n : 1; \
    for (int64_t k = 0; k < n; k++) { \
        int64_t i = lower != turned ? k : n - 1 - k, first = lower != turned ? 0 : i + 1, end = lower != turned ? i : n; \
        T pivot = m[i * n + i]; \
        if (pivot == 0) return 0; \
        for (int64_t j = 0; j < columns; j++) { \
            T x = b[i * columns + j]; \
            for (int64_t q = first; q < end; q++) x -= m[i * down + q * across] * b[q * columns + j]; \
            b[i * columns + j] = x / pivot; \
        } \
    } \
    return 1; \
} \
static int cholesky_##s(T *restrict m, int64_t n) \
{ \
    for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j <= i; j++) { \
        T x = m[i * n + j]; \
        if (!(x - x == 0)) return 0; \
        for (int64_t k = 0; k < j; k++) x -= m[i * n + k] * m[j * n + k]; \
        if (i == j && !(x > 0)) return 0; \
        m[i * n + j] = i == j ? (T)__builtin_sqrt(x) : x / m[j * n + j]; \
    } \
    for (int64_t i = 0; i < n; i++) for (int64_t j = i + 1; j < n; j++) m[i * n + j] = 0; \
    return 1; \
}
CHOLESKY(double, d)
CHOLESKY(float, f)
"""

BLAS = r"""
/* by NumPy's BLAS, where there is one and the operands lie as it takes them */
#define BLAS(T, s, which) \
static int blas_##s(const State *st, \
    T *c, int64_t m, int64_t k, int64_t n, const T *a, int64_t am, int64_t ak, const T *b, int64_t bk, int64_t bn) \
{ \
    if (!st->gemm[which] || !st->gemv[which] || m <= 0 || k <= 0 || n <= 0) return 0; \
    int ta = (ak == 1 || k == 1) && (am >= k || m == 1) ? 111 : (am == 1 || m == 1) && (ak >= m || k == 1) ? 112 : 0; \
    int tb = (bn == 1 || n == 1) && (bk >= n || k == 1) ? 111 : (bk == 1 || k == 1) && (bn >= k || n == 1) ? 112 : 0; \
    int64_t la = ta == 111 ? (m == 1 ? k : am) : k == 1 ? m : ak, lb = tb == 111 ? (k == 1 ? n : bk) : n == 1 ? k : bn; \
    int64_t most = la > lb ? la : lb; \
    most = most > m ? most : m; most = most > n ? most : n; most = most > k ? most : k; \
    if (!st->wide && most >= (int64_t)1 << 31) return 0; \
    int64_t rows, columns, lead, step; int trans; const T *matrix, *vector; \
    if (n == 1 && m > 1) { \
        if (!ta || (k > 1 && bk <= 0)) return 0; \
        matrix = a; lead = la; vector = b; step = k > 1 ? bk : 1; trans = ta; \
        rows = ta == 111 ? m : k; columns = ta == 111 ? k : m; \
    } else if (m == 1 && n > 1) { \
        if (!tb || (k > 1 && ak <= 0)) return 0; \
        matrix = b; lead = lb; vector = a; step = k > 1 ? ak : 1; trans = tb == 111 ? 112 : 111; \
        rows = tb == 111 ? k : n; columns = tb == 111 ? n : k; \
    } else { \
        if (!ta || !tb) return 0; \
        if (st->wide) ((void (*)(int, int, int, int64_t, int64_t, int64_t, T, const T *, int64_t, const T *, int64_t, T, T *, \
            int64_t))st->gemm[which])(101, ta, tb, m, n, k, 1, a, la, b, lb, 0, c, n); \
        else ((void (*)(int, int, int, int, int, int, T, const T *, int, const T *, int, T, T *, int))st->gemm[which])( \
            101, ta, tb, (int)m, (int)n, (int)k, 1, a, (int)la, b, (int)lb, 0, c, (int)n); \
        return 1; \
    } \
    if (!st->wide && step >= (int64_t)1 << 31) return 0; \
    if (st->wide) ((void (*)(int, int, int64_t, int64_t, T, const T *, int64_t, const T *, int64_t, T, T *, int64_t)) \
        st->gemv[which])(101, trans, rows, columns, 1, matrix, lead, vector, step, 0, c, 1); \
    else ((void (*)(int, int, int, int, T, const T *, int, const T *, int, T, T *, int))st->gemv[which])( \
        101, trans, (int)rows, (int)columns, 1, matrix, (int)lead, vector, (int)step, 0, c, 1); \
    return 1; \
}
BLAS(double, d, 0)
BLAS(float, f, 1)
"""

TRSM = r"""
/* systems of a triangle of a matrix, or of that turned round; 0 where there is no BLAS for them, or no solution */
#define TRSM(T, s, which) \
static int trsm_##s(const State *st, \
    const T *m, int64_t down, int64_t across, T *b, int64_t n, int64_t columns, int turned, int lower) \
{ \
    if (!st->trsm[which] || n <= 0 || columns <= 0) return 0; \
    if (across != 1 || down < n) { \
        if (down != 1 || across < n) return 0; \
        down = across; across = 1; turned = !turned; lower = !lower; \
    } \
    if (!st->wide && (down > columns ? down : columns) >= (int64_t)1 << 31) return 0; \
    for (int64_t i = 0; i < n; i++) if (m[i * (down + 1)] == 0) return 0; \
    int half = lower ? 122 : 121, trans = turned ? 112 : 111; \
    if (st->wide) ((void (*)(int, int, int, int, int, int64_t, int64_t, T, const T *, int64_t, T *, int64_t))st->trsm[which])( \
        101, 141, half, trans, 131, n, columns, 1, m, down, b, columns); \
    else ((void (*)(int, int, int, int, int, int, int, T, const T *, int, T *, int))st->trsm[which])( \
        101, 141, half, trans, 131, (int)n, (int)columns, 1, m, (int)down, b, (int)columns); \
    return 1; \
}
TRSM(double, d, 0)
TRSM(float, f, 1)
"""

MATHS = r"""
extern double fmod(double, double);
extern float fmodf(float, float);
#define fabs __builtin_fabs
#define fabsf __builtin_fabsf
#define copysign __builtin_copysign
#define copysignf __builtin_copysignf
#define sqrt __builtin_sqrt
#define sqrtf __builtin_sqrtf
#define floor __builtin_floor
#define floorf __builtin_floorf
#define ceil __builtin_ceil
#define ceilf __builtin_ceilf
#define trunc __builtin_trunc
#define truncf __builtin_truncf
#define rint __builtin_rint
#define rintf __builtin_rintf
#define MATHS(T, s, f) \
static inline T max_##s(T x, T y) { return x > y || x != x ? x : y; } \
static inline T min_##s(T x, T y) { return x < y || x != x ? x : y; } \
static inline T fmax##f(T x, T y) { return x >= y || y != y ? x : y; } \
static inline T fmin##f(T x, T y) { return x <= y || y != y ? x : y; } \
static inline T sign_##s(T x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; } \
static inline T remainder_##s(T x, T y) \
{ \
    T r = fmod##f(x, y); \
    if (y == 0) return r; \
    return r != 0 ? ((y < 0) != (r < 0) ? r + y : r) : r == r ? copysign##f(0, y) : r; \
} \
static inline T floor_divide_##s(T x, T y) \
{ \
    if (y == 0) return x / y; \
    T r = fmod##f(x, y), q = (x - r) / y; \
    if (r != 0 && (y < 0) != (r < 0)) q -= 1; \
    if (q == 0) return copysign##f(0, x / y); \
    T w = floor##f(q); \
    return q - w > (T)0.5 ? w + 1 : w; \
} \
static inline T logaddexp_##s(T x, T y) { T d = x - y, e = log1p##f(exp##f(-fabs##f(d))), m = max_##s(x, y); \
    return x == y ? x + (T)0.693147180559945309417 : d != d ? d : m + e; }
MATHS(double, d, )
MATHS(float, f, f)
static inline int64_t max_l(int64_t x, int64_t y) { return x > y ? x : y; }
static inline int64_t min_l(int64_t x, int64_t y) { return x < y ? x : y; }
#pragma omp declare reduction(max_d: double: omp_out = max_d(omp_in, omp_out)) initializer(omp_priv = -INFINITY)
#pragma omp declare reduction(min_d: double: omp_out = min_d(omp_in, omp_out)) initializer(omp_priv = INFINITY)
#pragma omp declare reduction(max_f: float: omp_out = max_f(omp_in, omp_out)) initializer(omp_priv = -INFINITY)
#pragma omp declare reduction(min_f: float: omp_out = min_f(omp_in, omp_out)) initializer(omp_priv = INFINITY)
#pragma omp declare reduction(max_l: int64_t: omp_out = max_l(omp_in, omp_out)) initializer(omp_priv = INT64_MIN)
#pragma omp declare reduction(min_l: int64_t: omp_out = min_l(omp_in, omp_out)) initializer(omp_priv = INT64_MAX)
static inline int64_t floor_divide_l(int64_t x, int64_t y)
{ if (y == 0) return 0; if (y == -1) return -x; int64_t q = x / y; return q * y != x && (x < 0) != (y < 0) ? q - 1 : q; }
static inline int64_t remainder_l(int64_t x, int64_t y)
{ if (y == 0 || y == -1) return 0; int64_t r = x % y; return r != 0 && (r < 0) != (y < 0) ? r + y : r; }
"""

ENTRY = r"""
PyObject *entry(PyObject *self, PyObject *const *a, int64_t n)
{
    const State *st = PyLong_AsVoidPtr(self);
    char store[STORE] __attribute__((aligned(64)));
    void *slot[SLOTS + 1]; int64_t cap[SLOTS + 1]; PyObject *o[OBJECTS + 1], *now = 0, *result = 0;
    Stack stacks[STACKS + 1];
    int64_t lent[STACKS + 1];
    static Left left[STACKS + 1];
    Frame frame = {slot, cap, o, stacks, 0, store, 0, 0, 0, 0, 0, 0};
    int why = 3;
    if (n == ARGUMENTS && st->errors && PyContextVar_Get(st->errors, 0, &now) == 0 && now) {
        Py_DecRef(now);
        if (now == st->usual || st->probing) {
            for (int k = 0; k < SLOTS; k++) slot[k] = 0;
            for (int k = 0; k < OBJECTS; k++) o[k] = 0;
            for (int k = 0; k < STACKS; k++) lent[k] = lend_stack(stacks + k, left + k);
            lend(&frame);
            result = run(st, &frame, a, &why);
            back(&frame);
            for (int k = 0; k < SLOTS; k++) if (slot[k] && !is_lent(&frame, slot[k])) free(slot[k]);
            keep(st, &frame);
            for (int k = 0; k < STACKS; k++) leave_stack(st, stacks + k, left + k, lent[k]);
            for (int k = 0; k < OBJECTS; k++) if (o[k]) Py_DecRef(o[k]);
            if (result) return result;
        }
    }
    if (PyErr_Occurred()) {
        if (!why || !PyErr_ExceptionMatches(PyExc_Exception)) return 0;
        PyErr_Clear();
    }
    PyObject *all[ARGUMENTS + 2];
    all[0] = PyLong_FromLongLong(why);
    for (int k = 0; k < n && k < ARGUMENTS; k++) all[k + 1] = a[k];
    result = PyObject_Vectorcall(st->fallback, all, (n < ARGUMENTS ? n : ARGUMENTS) + 1, 0);
    Py_DecRef(all[0]);
    return result;
}
"""


FLOATS = (("double", ""), ("float", "f"))  # of C, and what the names of their functions end with


def declared(mark: str, name: str, types: Sequence[tuple[str, str]] = FLOATS) -> str:
    """The declaration of a function that has a form for vectors, for doubles and floats; `mark` says that to the compiler."""
    return " ".join(f"extern {mark}{t} {name}{s}({', '.join([t] * VECTORS[name])});" for t, s in types)


def prelude(vectors: bool, text: str | None = None) -> str:
    """The head of a kernel of this text (None: of any); one that shares loops among threads brings the pool.

    With `vectors` the maths of the C library has forms for vectors (glibc's libmvec).
    """
    mark = '__attribute__((simd("notinbranch"))) ' if vectors else ""
    names = [declared(mark, name) for name in VECTORS]
    threads = "".join(
        [part for part, sign in ((ROWS, "rows_of("), (THREADS, "share(")) if text is None or sign in text]
    )
    lengths = LENGTHS if text is None or "checked_lengths(" in text else ""
    parts = (
        HEAD, PARTS, PYTHON, threads, lengths, STACKS, NOTHING, FRAME, LOCK, ROOM, KEPT, OBJECTS, SUMS, CUT, PRODUCT, LU,
        CHOLESKY, BLAS, TRSM,
    )  # fmt: skip
    return "".join(parts) + "\n" + "\n".join(names) + MATHS
