#define ARGUMENTS 3
#define SLOTS 13
#define OBJECTS 8
#define STACKS 0

typedef struct {
    int64_t y_step0;
    double *y, *t_c, *t_14, *t_7_s;
    double t_10;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    const int64_t y_step0 = of->y_step0;
    double *const y = of->y, *const t_c = of->t_c, *const t_14 = of->t_14;
    const double t_10 = of->t_10;
    sums_d t_7_s; t_7_s.n = 0;
    if (y_step0 == 1) {
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_7_b = 0;
#pragma omp simd reduction(+:t_7_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = y[i];
                const double e1_v = t_c[i];
                const double margin_v = e0_v * e1_v;
                const double t_4_v = -margin_v;  /* golden_functions.py:34 */
                const double t_5_v = logaddexp_d(0.0, t_4_v);
                t_7_b += t_5_v;
                const double t_11_v = 1 / (1 + exp(-t_4_v));
                const double t_12_v = t_10 * t_11_v;
                const double d_margin_v = -t_12_v;
                const double t_14_v = d_margin_v * e0_v;  /* golden_functions.py:32 */
                t_14[i] = t_14_v;
            }
            add_d(&t_7_s, t_7_b);
        }
    } else {
        const double *e0_r = y;
        const double *e1_r = t_c;
        double *t_14_r = t_14;
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_7_b = 0;
#pragma omp simd reduction(+:t_7_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = e0_r[i * y_step0];
                const double e1_v = e1_r[i];
                const double margin_v = e0_v * e1_v;
                const double t_4_v = -margin_v;  /* golden_functions.py:34 */
                const double t_5_v = logaddexp_d(0.0, t_4_v);
                t_7_b += t_5_v;
                const double t_11_v = 1 / (1 + exp(-t_4_v));
                const double t_12_v = t_10 * t_11_v;
                const double d_margin_v = -t_12_v;
                const double t_14_v = d_margin_v * e0_v;  /* golden_functions.py:32 */
                t_14_r[i] = t_14_v;
            }
            add_d(&t_7_s, t_7_b);
        }
    }
    of->t_7_s[k] = total_d(&t_7_s);
}

typedef struct {
    int64_t w_step0;
    double *w, *t_13, *t_3_s;
} JOIN(run, loop_2_of);
static __attribute__((noinline)) void JOIN(run, loop_2)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_2_of) *const of = all;
    const int64_t w_step0 = of->w_step0;
    double *const w = of->w, *const t_13 = of->t_13;
    sums_d t_3_s; t_3_s.n = 0;
    if (w_step0 == 1) {
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_3_b = 0;
#pragma omp simd reduction(+:t_3_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = w[i];
                const double t_2_v = e0_v * e0_v;  /* golden_functions.py:33 */
                t_3_b += t_2_v;
                const double t_13_v = 0.02 * e0_v;  /* golden_functions.py:33 */
                t_13[i] = t_13_v;
            }
            add_d(&t_3_s, t_3_b);
        }
    } else {
        const double *e0_r = w;
        double *t_13_r = t_13;
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_3_b = 0;
#pragma omp simd reduction(+:t_3_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = e0_r[i * w_step0];
                const double t_2_v = e0_v * e0_v;  /* golden_functions.py:33 */
                t_3_b += t_2_v;
                const double t_13_v = 0.02 * e0_v;  /* golden_functions.py:33 */
                t_13_r[i] = t_13_v;
            }
            add_d(&t_3_s, t_3_b);
        }
    }
    of->t_3_s[k] = total_d(&t_3_s);
}

typedef struct {
    double *t_13, *t_16_c, *d_w;
} JOIN(run, loop_3_of);
static __attribute__((noinline)) void JOIN(run, loop_3)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_3_of) *const of = all;
    double *const t_13 = of->t_13, *const t_16_c = of->t_16_c, *const d_w = of->d_w;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_13[i];
            const double e1_v = t_16_c[i];
            const double d_w_v = e0_v + e1_v;
            d_w[i] = d_w_v;
        }
    }
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    if (!is_array(st, a[0], D, 1)) goto punt;
    double *const w = (double *)ARRAY(a[0])->data;
    const int64_t w_n0 = ARRAY(a[0])->dims[0];
    const int64_t w_step0 = ARRAY(a[0])->strides[0] / (int64_t)sizeof(double);
    if (!is_array(st, a[1], D, 2)) goto punt;
    double *const X = (double *)ARRAY(a[1])->data;
    const int64_t X_n0 = ARRAY(a[1])->dims[0];
    const int64_t X_step0 = ARRAY(a[1])->strides[0] / (int64_t)sizeof(double);
    const int64_t X_n1 = ARRAY(a[1])->dims[1];
    const int64_t X_step1 = ARRAY(a[1])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[2], D, 1)) goto punt;
    double *const y = (double *)ARRAY(a[2])->data;
    const int64_t y_n0 = ARRAY(a[2])->dims[0];
    const int64_t y_step0 = ARRAY(a[2])->strides[0] / (int64_t)sizeof(double);
    if (X_n1 != w_n0) goto punt;
    if (y_n0 != X_n0) goto punt;
    const int64_t t_6 = y_n0;
    const double t_10 = 1.0 / (double)t_6;
    double *const t_15 = (double *)X;
    double *const t_c = room(f, 0, sizeof(double) * (X_n0));
    if (!t_c) goto punt;
    WORK(X_n0 * X_n1 / 4);
    if ((X_n0) * (X_n1) * (1) <= 16384) product_d(t_c, X_n0, X_n1, 1, X, X_step0, X_step1, w, w_step0, 0);  /* golden_functions.py:32 */
    else if (!blas_d(st, t_c, X_n0, X_n1, 1, X, X_step0, X_step1, w, w_step0, 0)) {
        PyObject *argv[] = {a[1], a[0]};
        back(f);
        hold(f, 0, PyObject_Vectorcall(st->calls[0], argv, 2, 0));
        if (!f->o[0]) goto fail;
        if (!is_array(st, f->o[0], D, 1)) goto punt;
        if (ARRAY(f->o[0])->dims[0] != X_n0) goto punt;
        if ((X_n0 <= 1 || ARRAY(f->o[0])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_c, ARRAY(f->o[0])->data, sizeof(double) * (X_n0));
        else for (int64_t i0 = 0; i0 < X_n0; i0++) memcpy(t_c + i0 * (1), (const char *)ARRAY(f->o[0])->data + i0 * ARRAY(f->o[0])->strides[0], sizeof(double));
    }
    double *const t_14 = room(f, 9, sizeof(double) * (y_n0));
    if (!t_14) goto punt;
    const int64_t loop_n = y_n0, loop_chunk = 16384;
    const int64_t loop_chunks = (loop_n + loop_chunk - 1) / loop_chunk;
    double *const t_7_s = room(f, 11, sizeof(double) * (loop_chunks));
    if (!t_7_s) goto punt;
    WORK(y_n0 * 8);
    JOIN(run, loop_of) loop = {y_step0, y, t_c, t_14, t_7_s, t_10};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    const double t_7 = summed_d(t_7_s, loop_chunks, loop_n % loop_chunk != 0);
    const double t_8 = t_7 / (double)t_6;
    double *const t_13 = room(f, 8, sizeof(double) * (X_n1));
    if (!t_13) goto punt;
    const int64_t loop_2_n = X_n1, loop_2_chunk = 65536;
    const int64_t loop_2_chunks = (loop_2_n + loop_2_chunk - 1) / loop_2_chunk;
    double *const t_3_s = room(f, 12, sizeof(double) * (loop_2_chunks));
    if (!t_3_s) goto punt;
    WORK(X_n1 * 3);
    JOIN(run, loop_2_of) loop_2 = {w_step0, w, t_13, t_3_s};
    share(st, JOIN(run, loop_2), &loop_2, loop_2_n, loop_2_chunk);
    const double t_3 = summed_d(t_3_s, loop_2_chunks, loop_2_n % loop_2_chunk != 0);
    const double penalty = 0.01 * t_3;
    const double t_9 = t_8 + penalty;
    double *const t_16_c = room(f, 10, sizeof(double) * (X_n1));
    if (!t_16_c) goto punt;
    WORK(X_n1 * y_n0 / 4);
    if ((X_n1) * (y_n0) * (1) <= 16384) product_d(t_16_c, X_n1, y_n0, 1, t_15, X_step1, X_step0, t_14, 1, 0);
    else if (!blas_d(st, t_16_c, X_n1, y_n0, 1, t_15, X_step1, X_step0, t_14, 1, 0)) {
        back(f);
        hold(f, 1, boxed(st, D, (void *)t_15, 2, (int64_t[]){X_n1, y_n0}, (int64_t[]){X_step1, X_step0}));
        if (!f->o[1]) goto fail;
        hold(f, 2, boxed(st, D, (void *)t_14, 1, (int64_t[]){y_n0}, (int64_t[]){1}));
        if (!f->o[2]) goto fail;
        PyObject *argv[] = {f->o[1], f->o[2]};
        hold(f, 3, PyObject_Vectorcall(st->calls[1], argv, 2, 0));
        if (!f->o[3]) goto fail;
        if (!is_array(st, f->o[3], D, 1)) goto punt;
        if (ARRAY(f->o[3])->dims[0] != X_n1) goto punt;
        if ((X_n1 <= 1 || ARRAY(f->o[3])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_16_c, ARRAY(f->o[3])->data, sizeof(double) * (X_n1));
        else for (int64_t i0 = 0; i0 < X_n1; i0++) memcpy(t_16_c + i0 * (1), (const char *)ARRAY(f->o[3])->data + i0 * ARRAY(f->o[3])->strides[0], sizeof(double));
    }
    back(f);
    double *const d_w = new_array(st, f, 4, D, 1, (int64_t[]){X_n1}, 0);
    if (!d_w) goto punt;
    const int64_t loop_3_n = X_n1, loop_3_chunk = 262144;
    WORK(X_n1);
    JOIN(run, loop_3_of) loop_3 = {t_13, t_16_c, d_w};
    share(st, JOIN(run, loop_3), &loop_3, loop_3_n, loop_3_chunk);
    back(f);
    hold(f, 5, PyTuple_New(2));
    if (!f->o[5]) goto fail;
    hold(f, 6, scalar(st, D, t_9, 0));
    if (!f->o[6]) goto fail;
    PyTuple_SetItem(f->o[5], 0, again(f->o[6]));
    hold(f, 7, again(f->o[4]));
    if (!f->o[7]) goto fail;
    PyTuple_SetItem(f->o[5], 1, again(f->o[7]));
    PyObject *const whole = again(f->o[5]);
    if (!st->probing) st->hits[0]++;
    return whole;
punt:
fail:
    *why = 1;
    return 0;
unseen:
    *why = 2;
    return 0;
stop:
    *why = 0;
    return 0;
}
