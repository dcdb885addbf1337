#define ARGUMENTS 7
#define SLOTS 36
#define OBJECTS 53
#define STACKS 0

typedef struct {
    int64_t F_2_n0, Q_step0, Q_step1;
    double *t_3_c, *Q, *cov_2;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    const int64_t F_2_n0 = of->F_2_n0, Q_step0 = of->Q_step0, Q_step1 = of->Q_step1;
    double *const t_3_c = of->t_3_c, *const Q = of->Q, *const cov_2 = of->cov_2;
    if (Q_step0 == F_2_n0 && Q_step1 == 1) {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_3_c[i];
            const double e1_v = Q[i];
            const double cov_2_v = e0_v + e1_v;
            cov_2[i] = cov_2_v;
        }
    } else {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_3_c + i0 * F_2_n0;
            const double *e1_r = Q + i0 * Q_step0;
            double *cov_2_r = cov_2 + i0 * (F_2_n0);
            #pragma omp simd
            for (int64_t i = 0; i < F_2_n0; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i * Q_step1];
                const double cov_2_v = e0_v + e1_v;
                cov_2_r[i] = cov_2_v;
            }
        }
    }
}

typedef struct {
    double *mean_2_c, *t_9_c, *d_mean, *t_15_s;
} JOIN(run, loop_2_of);
static __attribute__((noinline)) void JOIN(run, loop_2)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_2_of) *const of = all;
    double *const mean_2_c = of->mean_2_c, *const t_9_c = of->t_9_c, *const d_mean = of->d_mean;
    sums_d t_15_s; t_15_s.n = 0;
    {
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_15_b = 0;
#pragma omp simd reduction(+:t_15_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = mean_2_c[i];
                const double e1_v = t_9_c[i];
                const double mean_3_v = e0_v + e1_v;
                const double t_14_v = mean_3_v * mean_3_v;
                t_15_b += t_14_v;
                const double d_mean_v = 0.002 * mean_3_v;
                d_mean[i] = d_mean_v;
            }
            add_d(&t_15_s, t_15_b);
        }
    }
    of->t_15_s[k] = total_d(&t_15_s);
}

typedef struct {
    double *t_28, *innovation, *d_gain;
} JOIN(run, loop_3_of);
static __attribute__((noinline)) void JOIN(run, loop_3)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_3_of) *const of = all;
    double *const t_28 = of->t_28, *const innovation = of->innovation, *const d_gain = of->d_gain;
    {
        const double e1_v = *innovation;
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_28[i];
            const double d_gain_v = e0_v * e1_v;
            d_gain[i] = d_gain_v;
        }
    }
}

typedef struct {
    double *t_32_c, *t_34_c, *d_Q;
} JOIN(run, loop_4_of);
static __attribute__((noinline)) void JOIN(run, loop_4)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_4_of) *const of = all;
    double *const t_32_c = of->t_32_c, *const t_34_c = of->t_34_c, *const d_Q = of->d_Q;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_32_c[i];
            const double e1_v = t_34_c[i];
            const double d_Q_v = e0_v + e1_v;
            d_Q[i] = d_Q_v;
        }
    }
}

typedef struct {
    double *H;
    int64_t H_n1;
    int64_t H_step1;
    double *t_6;
    double *gain;
    double t_17;
    double *t_27;
    double *t_30;
} JOIN(run, parts);

static __attribute__((noinline)) int JOIN(run, part_0)(
    const State *st, Frame *f, PyObject *const *a, int *why, JOIN(run, parts) *kept)
{
    int64_t work = 0;
    if (!is_array(st, a[0], D, 2)) goto punt;
    double *const F_2 = (double *)ARRAY(a[0])->data;
    const int64_t F_2_n0 = ARRAY(a[0])->dims[0];
    const int64_t F_2_step0 = ARRAY(a[0])->strides[0] / (int64_t)sizeof(double);
    const int64_t F_2_n1 = ARRAY(a[0])->dims[1];
    const int64_t F_2_step1 = ARRAY(a[0])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[1], D, 2)) goto punt;
    double *const H = (double *)ARRAY(a[1])->data;
    if (ARRAY(a[1])->dims[0] != 1) goto punt;
    const int64_t H_n1 = ARRAY(a[1])->dims[1];
    const int64_t H_step1 = ARRAY(a[1])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[2], D, 2)) goto punt;
    double *const Q = (double *)ARRAY(a[2])->data;
    const int64_t Q_n0 = ARRAY(a[2])->dims[0];
    const int64_t Q_step0 = ARRAY(a[2])->strides[0] / (int64_t)sizeof(double);
    const int64_t Q_n1 = ARRAY(a[2])->dims[1];
    const int64_t Q_step1 = ARRAY(a[2])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[3], D, 2)) goto punt;
    double *const R = (double *)ARRAY(a[3])->data;
    if (ARRAY(a[3])->dims[0] != 1) goto punt;
    if (ARRAY(a[3])->dims[1] != 1) goto punt;
    if (!is_array(st, a[4], D, 1)) goto punt;
    double *const mean = (double *)ARRAY(a[4])->data;
    const int64_t mean_n0 = ARRAY(a[4])->dims[0];
    const int64_t mean_step0 = ARRAY(a[4])->strides[0] / (int64_t)sizeof(double);
    if (!is_array(st, a[5], D, 2)) goto punt;
    double *const cov = (double *)ARRAY(a[5])->data;
    const int64_t cov_n0 = ARRAY(a[5])->dims[0];
    const int64_t cov_step0 = ARRAY(a[5])->strides[0] / (int64_t)sizeof(double);
    const int64_t cov_n1 = ARRAY(a[5])->dims[1];
    const int64_t cov_step1 = ARRAY(a[5])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[6], D, 1)) goto punt;
    double *const z = (double *)ARRAY(a[6])->data;
    if (ARRAY(a[6])->dims[0] != 1) goto punt;
    if (F_2_n1 != mean_n0) goto punt;
    if (F_2_n1 != cov_n0) goto punt;
    double *const t_2 = (double *)F_2;
    if (cov_n1 != F_2_n1) goto punt;
    if (F_2_n0 != Q_n0) goto punt;
    if (F_2_n0 != Q_n1) goto punt;
    if (H_n1 != F_2_n0) goto punt;
    double *const t_6 = (double *)H;
    double *const mean_2_c = room(f, 0, sizeof(double) * (F_2_n0));
    if (!mean_2_c) goto punt;
    WORK(F_2_n0 * F_2_n1 / 4);
    if ((F_2_n0) * (F_2_n1) * (1) <= 16384) product_d(mean_2_c, F_2_n0, F_2_n1, 1, F_2, F_2_step0, F_2_step1, mean, mean_step0, 0);  /* golden_functions.py:99 */
    else if (!blas_d(st, mean_2_c, F_2_n0, F_2_n1, 1, F_2, F_2_step0, F_2_step1, mean, mean_step0, 0)) {
        PyObject *argv[] = {a[0], a[4]};
        back(f);
        hold(f, 0, PyObject_Vectorcall(st->calls[0], argv, 2, 0));
        if (!f->o[0]) goto fail;
        if (!is_array(st, f->o[0], D, 1)) goto punt;
        if (ARRAY(f->o[0])->dims[0] != F_2_n0) goto punt;
        if ((F_2_n0 <= 1 || ARRAY(f->o[0])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(mean_2_c, ARRAY(f->o[0])->data, sizeof(double) * (F_2_n0));
        else for (int64_t i0 = 0; i0 < F_2_n0; i0++) memcpy(mean_2_c + i0 * (1), (const char *)ARRAY(f->o[0])->data + i0 * ARRAY(f->o[0])->strides[0], sizeof(double));
    }
    double *const t_c = room(f, 1, sizeof(double) * (F_2_n0 * cov_n1));
    if (!t_c) goto punt;
    WORK(F_2_n0 * F_2_n1 * cov_n1 / 4);
    if ((F_2_n0) * (F_2_n1) * (cov_n1) <= 2048) product_d(t_c, F_2_n0, F_2_n1, cov_n1, F_2, F_2_step0, F_2_step1, cov, cov_step0, cov_step1);  /* golden_functions.py:100 */
    else if (!blas_d(st, t_c, F_2_n0, F_2_n1, cov_n1, F_2, F_2_step0, F_2_step1, cov, cov_step0, cov_step1)) {
        PyObject *argv[] = {a[0], a[5]};
        back(f);
        hold(f, 1, PyObject_Vectorcall(st->calls[1], argv, 2, 0));
        if (!f->o[1]) goto fail;
        if (!is_array(st, f->o[1], D, 2)) goto punt;
        if (ARRAY(f->o[1])->dims[0] != F_2_n0) goto punt;
        if (ARRAY(f->o[1])->dims[1] != cov_n1) goto punt;
        if ((F_2_n0 <= 1 || ARRAY(f->o[1])->strides[0] == (int64_t)sizeof(double) * (cov_n1)) && (cov_n1 <= 1 || ARRAY(f->o[1])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_c, ARRAY(f->o[1])->data, sizeof(double) * (F_2_n0 * cov_n1));
        else for (int64_t i0 = 0; i0 < F_2_n0; i0++) for (int64_t i1 = 0; i1 < cov_n1; i1++) memcpy(t_c + i0 * (cov_n1) + i1 * (1), (const char *)ARRAY(f->o[1])->data + i0 * ARRAY(f->o[1])->strides[0] + i1 * ARRAY(f->o[1])->strides[1], sizeof(double));
    }
    double *const t_3_c = room(f, 2, sizeof(double) * (F_2_n0 * F_2_n0));
    if (!t_3_c) goto punt;
    WORK(F_2_n0 * cov_n1 * F_2_n0 / 4);
    if ((F_2_n0) * (cov_n1) * (F_2_n0) <= 2048) product_d(t_3_c, F_2_n0, cov_n1, F_2_n0, t_c, cov_n1, 1, t_2, F_2_step1, F_2_step0);
    else if (!blas_d(st, t_3_c, F_2_n0, cov_n1, F_2_n0, t_c, cov_n1, 1, t_2, F_2_step1, F_2_step0)) {
        back(f);
        hold(f, 2, boxed(st, D, (void *)t_c, 2, (int64_t[]){F_2_n0, cov_n1}, (int64_t[]){cov_n1, 1}));
        if (!f->o[2]) goto fail;
        hold(f, 3, boxed(st, D, (void *)t_2, 2, (int64_t[]){F_2_n1, F_2_n0}, (int64_t[]){F_2_step1, F_2_step0}));
        if (!f->o[3]) goto fail;
        PyObject *argv[] = {f->o[2], f->o[3]};
        hold(f, 4, PyObject_Vectorcall(st->calls[2], argv, 2, 0));
        if (!f->o[4]) goto fail;
        if (!is_array(st, f->o[4], D, 2)) goto punt;
        if (ARRAY(f->o[4])->dims[0] != F_2_n0) goto punt;
        if (ARRAY(f->o[4])->dims[1] != F_2_n0) goto punt;
        if ((F_2_n0 <= 1 || ARRAY(f->o[4])->strides[0] == (int64_t)sizeof(double) * (F_2_n0)) && (F_2_n0 <= 1 || ARRAY(f->o[4])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_3_c, ARRAY(f->o[4])->data, sizeof(double) * (F_2_n0 * F_2_n0));
        else for (int64_t i0 = 0; i0 < F_2_n0; i0++) for (int64_t i1 = 0; i1 < F_2_n0; i1++) memcpy(t_3_c + i0 * (F_2_n0) + i1 * (1), (const char *)ARRAY(f->o[4])->data + i0 * ARRAY(f->o[4])->strides[0] + i1 * ARRAY(f->o[4])->strides[1], sizeof(double));
    }
    double *const cov_2 = room(f, 3, sizeof(double) * (F_2_n0 * F_2_n0));
    if (!cov_2) goto punt;
    const int64_t loop_n = Q_step0 == F_2_n0 && Q_step1 == 1 ? F_2_n0 * F_2_n0 : F_2_n0, loop_chunk = Q_step0 == F_2_n0 && Q_step1 == 1 ? 262144 : rows_of(1 * F_2_n0 + 256 * 1, 262144, 1);
    WORK(F_2_n0 * F_2_n0);
    JOIN(run, loop_of) loop = {F_2_n0, Q_step0, Q_step1, t_3_c, Q, cov_2};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    double *const t_4_c = room(f, 4, sizeof(double) * (1));
    if (!t_4_c) goto punt;
    WORK(H_n1 / 4);
    if ((1) * (H_n1) * (1) <= 16384) product_d(t_4_c, 1, H_n1, 1, H, 0, H_step1, mean_2_c, 1, 0);  /* golden_functions.py:101 */
    else if (!blas_d(st, t_4_c, 1, H_n1, 1, H, 0, H_step1, mean_2_c, 1, 0)) {
        back(f);
        hold(f, 5, boxed(st, D, (void *)mean_2_c, 1, (int64_t[]){F_2_n0}, (int64_t[]){1}));
        if (!f->o[5]) goto fail;
        PyObject *argv[] = {a[1], f->o[5]};
        hold(f, 6, PyObject_Vectorcall(st->calls[3], argv, 2, 0));
        if (!f->o[6]) goto fail;
        if (!is_array(st, f->o[6], D, 1)) goto punt;
        if (ARRAY(f->o[6])->dims[0] != 1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[6])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_4_c, ARRAY(f->o[6])->data, sizeof(double) * (1));
        else for (int64_t i0 = 0; i0 < 1; i0++) memcpy(t_4_c + i0 * (1), (const char *)ARRAY(f->o[6])->data + i0 * ARRAY(f->o[6])->strides[0], sizeof(double));
    }
    double *const innovation = room(f, 5, sizeof(double) * (1));
    if (!innovation) goto punt;
    double *const t_18 = room(f, 19, sizeof(double) * (1));
    if (!t_18) goto punt;
    {
        const double e0_v = *z;
        const double e1_v = *t_4_c;
#pragma omp simd
        for (int64_t i = 0; i < 1; i++) {
            const double innovation_v = e0_v - e1_v;
            innovation[i] = innovation_v;
            const double t_18_v = 0.5 * innovation_v;  /* golden_functions.py:106 */
            t_18[i] = t_18_v;
        }
    }
    double *const t_5_c = room(f, 6, sizeof(double) * (H_n1));
    if (!t_5_c) goto punt;
    WORK(H_n1 * F_2_n0 / 4);
    if ((1) * (H_n1) * (F_2_n0) <= 2048) product_d(t_5_c, 1, H_n1, F_2_n0, H, 0, H_step1, cov_2, F_2_n0, 1);  /* golden_functions.py:102 */
    else if (!blas_d(st, t_5_c, 1, H_n1, F_2_n0, H, 0, H_step1, cov_2, F_2_n0, 1)) {
        back(f);
        hold(f, 7, boxed(st, D, (void *)cov_2, 2, (int64_t[]){F_2_n0, F_2_n0}, (int64_t[]){F_2_n0, 1}));
        if (!f->o[7]) goto fail;
        PyObject *argv[] = {a[1], f->o[7]};
        hold(f, 8, PyObject_Vectorcall(st->calls[4], argv, 2, 0));
        if (!f->o[8]) goto fail;
        if (!is_array(st, f->o[8], D, 2)) goto punt;
        if (ARRAY(f->o[8])->dims[0] != 1) goto punt;
        if (ARRAY(f->o[8])->dims[1] != H_n1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[8])->strides[0] == (int64_t)sizeof(double) * (H_n1)) && (H_n1 <= 1 || ARRAY(f->o[8])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_5_c, ARRAY(f->o[8])->data, sizeof(double) * (H_n1));
        else for (int64_t i0 = 0; i0 < 1; i0++) for (int64_t i1 = 0; i1 < H_n1; i1++) memcpy(t_5_c + i0 * (H_n1) + i1 * (1), (const char *)ARRAY(f->o[8])->data + i0 * ARRAY(f->o[8])->strides[0] + i1 * ARRAY(f->o[8])->strides[1], sizeof(double));
    }
    double *const t_7_c = room(f, 7, sizeof(double) * (1));
    if (!t_7_c) goto punt;
    WORK(H_n1 / 4);
    if ((1) * (H_n1) * (1) <= 2048) product_d(t_7_c, 1, H_n1, 1, t_5_c, H_n1, 1, t_6, H_step1, 0);
    else if (!blas_d(st, t_7_c, 1, H_n1, 1, t_5_c, H_n1, 1, t_6, H_step1, 0)) {
        back(f);
        hold(f, 9, boxed(st, D, (void *)t_5_c, 2, (int64_t[]){1, H_n1}, (int64_t[]){H_n1, 1}));
        if (!f->o[9]) goto fail;
        hold(f, 10, boxed(st, D, (void *)t_6, 2, (int64_t[]){H_n1, 1}, (int64_t[]){H_step1, 0}));
        if (!f->o[10]) goto fail;
        PyObject *argv[] = {f->o[9], f->o[10]};
        hold(f, 11, PyObject_Vectorcall(st->calls[5], argv, 2, 0));
        if (!f->o[11]) goto fail;
        if (!is_array(st, f->o[11], D, 2)) goto punt;
        if (ARRAY(f->o[11])->dims[0] != 1) goto punt;
        if (ARRAY(f->o[11])->dims[1] != 1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[11])->strides[0] == (int64_t)sizeof(double) * (1)) && (1 <= 1 || ARRAY(f->o[11])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_7_c, ARRAY(f->o[11])->data, sizeof(double) * (1));
        else for (int64_t i0 = 0; i0 < 1; i0++) for (int64_t i1 = 0; i1 < 1; i1++) memcpy(t_7_c + i0 * (1) + i1 * (1), (const char *)ARRAY(f->o[11])->data + i0 * ARRAY(f->o[11])->strides[0] + i1 * ARRAY(f->o[11])->strides[1], sizeof(double));
    }
    double *const S = room(f, 8, sizeof(double) * (1));
    if (!S) goto punt;
    {
        const double e0_v = *t_7_c;
        const double e1_v = *R;
#pragma omp simd
        for (int64_t i = 0; i < 1; i++) {
            const double S_v = e0_v + e1_v;
            S[i] = S_v;
        }
    }
    double *const t_19 = (double *)S;
    double *const work_2 = room(f, 9, sizeof(double) * 256);
    if (!work_2) goto punt;
    double *const t_8 = room(f, 10, sizeof(double) * (H_n1));
    if (!t_8) goto punt;
    int done = 0, done_sign = 1; (void)done_sign;
    if (1 <= 16) {  /* golden_functions.py:103 */
        memcpy(work_2, S, sizeof(double) * (1));
        memcpy(t_8, t_5_c, sizeof(double) * (H_n1));
        done = lu_d(work_2, t_8, 1, H_n1, &done_sign);
    }
    if (!done) {
        back(f);
        hold(f, 12, boxed(st, D, (void *)S, 2, (int64_t[]){1, 1}, (int64_t[]){1, 1}));
        if (!f->o[12]) goto fail;
        hold(f, 13, boxed(st, D, (void *)t_5_c, 2, (int64_t[]){1, H_n1}, (int64_t[]){H_n1, 1}));
        if (!f->o[13]) goto fail;
        PyObject *argv[] = {f->o[12], f->o[13]};
        hold(f, 14, PyObject_Vectorcall(st->calls[6], argv, 2, 0));
        if (!f->o[14]) goto fail;
        if (!is_array(st, f->o[14], D, 2)) goto punt;
        if (ARRAY(f->o[14])->dims[0] != 1) goto punt;
        if (ARRAY(f->o[14])->dims[1] != H_n1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[14])->strides[0] == (int64_t)sizeof(double) * (H_n1)) && (H_n1 <= 1 || ARRAY(f->o[14])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_8, ARRAY(f->o[14])->data, sizeof(double) * (H_n1));
        else for (int64_t i0 = 0; i0 < 1; i0++) for (int64_t i1 = 0; i1 < H_n1; i1++) memcpy(t_8 + i0 * (H_n1) + i1 * (1), (const char *)ARRAY(f->o[14])->data + i0 * ARRAY(f->o[14])->strides[0] + i1 * ARRAY(f->o[14])->strides[1], sizeof(double));
    }
    double *const gain = (double *)t_8;
    double *const t_9_c = room(f, 11, sizeof(double) * (H_n1));
    if (!t_9_c) goto punt;
    WORK(H_n1 / 4);
    if ((H_n1) * (1) * (1) <= 16384) product_d(t_9_c, H_n1, 1, 1, gain, 1, H_n1, innovation, 1, 0);  /* golden_functions.py:104 */
    else if (!blas_d(st, t_9_c, H_n1, 1, 1, gain, 1, H_n1, innovation, 1, 0)) {
        back(f);
        hold(f, 15, boxed(st, D, (void *)gain, 2, (int64_t[]){H_n1, 1}, (int64_t[]){1, H_n1}));
        if (!f->o[15]) goto fail;
        hold(f, 16, boxed(st, D, (void *)innovation, 1, (int64_t[]){1}, (int64_t[]){1}));
        if (!f->o[16]) goto fail;
        PyObject *argv[] = {f->o[15], f->o[16]};
        hold(f, 17, PyObject_Vectorcall(st->calls[7], argv, 2, 0));
        if (!f->o[17]) goto fail;
        if (!is_array(st, f->o[17], D, 1)) goto punt;
        if (ARRAY(f->o[17])->dims[0] != H_n1) goto punt;
        if ((H_n1 <= 1 || ARRAY(f->o[17])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_9_c, ARRAY(f->o[17])->data, sizeof(double) * (H_n1));
        else for (int64_t i0 = 0; i0 < H_n1; i0++) memcpy(t_9_c + i0 * (1), (const char *)ARRAY(f->o[17])->data + i0 * ARRAY(f->o[17])->strides[0], sizeof(double));
    }
    double *const d_mean = room(f, 18, sizeof(double) * (H_n1));
    if (!d_mean) goto punt;
    const int64_t loop_2_n = H_n1, loop_2_chunk = 65536;
    const int64_t loop_2_chunks = (loop_2_n + loop_2_chunk - 1) / loop_2_chunk;
    double *const t_15_s = room(f, 35, sizeof(double) * (loop_2_chunks));
    if (!t_15_s) goto punt;
    WORK(H_n1 * 4);
    JOIN(run, loop_2_of) loop_2 = {mean_2_c, t_9_c, d_mean, t_15_s};
    share(st, JOIN(run, loop_2), &loop_2, loop_2_n, loop_2_chunk);
    const double t_15 = summed_d(t_15_s, loop_2_chunks, loop_2_n % loop_2_chunk != 0);
    const double t_16 = 0.001 * t_15;
    double *const t_28 = (double *)d_mean;  /* golden_functions.py:104 */
    double *const work_3 = room(f, 13, sizeof(double) * 256);
    if (!work_3) goto punt;
    double t_10 = 0, logdet = 0;
    int done_2 = 0, done_2_sign = 1; (void)done_2_sign;
    if (1 <= 16) {  /* golden_functions.py:105 */
        memcpy(work_3, S, sizeof(double) * (1));
        done_2 = lu_d(work_3, 0, 1, 0, &done_2_sign);
    }
    if (!done_2) {
        back(f);
        hold(f, 18, boxed(st, D, (void *)S, 2, (int64_t[]){1, 1}, (int64_t[]){1, 1}));
        if (!f->o[18]) goto fail;
        PyObject *argv[] = {f->o[18]};
        hold(f, 19, PyObject_Vectorcall(st->calls[8], argv, 1, 0));
        if (!f->o[19]) goto fail;
        hold(f, 20, PySequence_GetItem(f->o[19], 0));
        if (!f->o[20]) goto fail;
        t_10 = (double)PyFloat_AsDouble(f->o[20]);
        if (t_10 == -1 && PyErr_Occurred()) goto fail;
        hold(f, 21, PySequence_GetItem(f->o[19], 1));
        if (!f->o[21]) goto fail;
        logdet = (double)PyFloat_AsDouble(f->o[21]);
        if (logdet == -1 && PyErr_Occurred()) goto fail;
    }
    if (done_2) {
        t_10 = done_2_sign;
        for (int64_t i = 0; i < 1; i++) {
            t_10 *= work_3[i * 1 + i] < 0 ? -1 : 1;
            logdet += log(fabs(work_3[i * 1 + i]));
        }
    }
    double *const work_4 = room(f, 14, sizeof(double) * 256);
    if (!work_4) goto punt;
    double *const t_11 = room(f, 15, sizeof(double) * (1));
    if (!t_11) goto punt;
    int done_3 = 0, done_3_sign = 1; (void)done_3_sign;
    if (1 <= 16) {  /* golden_functions.py:106 */
        memcpy(work_4, S, sizeof(double) * (1));
        memcpy(t_11, innovation, sizeof(double) * (1));
        done_3 = lu_d(work_4, t_11, 1, 1, &done_3_sign);
    }
    if (!done_3) {
        back(f);
        hold(f, 22, boxed(st, D, (void *)S, 2, (int64_t[]){1, 1}, (int64_t[]){1, 1}));
        if (!f->o[22]) goto fail;
        hold(f, 23, boxed(st, D, (void *)innovation, 1, (int64_t[]){1}, (int64_t[]){1}));
        if (!f->o[23]) goto fail;
        PyObject *argv[] = {f->o[22], f->o[23]};
        hold(f, 24, PyObject_Vectorcall(st->calls[9], argv, 2, 0));
        if (!f->o[24]) goto fail;
        if (!is_array(st, f->o[24], D, 1)) goto punt;
        if (ARRAY(f->o[24])->dims[0] != 1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[24])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_11, ARRAY(f->o[24])->data, sizeof(double) * (1));
        else for (int64_t i0 = 0; i0 < 1; i0++) memcpy(t_11 + i0 * (1), (const char *)ARRAY(f->o[24])->data + i0 * ARRAY(f->o[24])->strides[0], sizeof(double));
    }
    double *const fit_c = room(f, 16, sizeof(double));
    if (!fit_c) goto punt;
    WORK(1 / 4);
    if ((1) * (1) * (1) <= 16384) product_d(fit_c, 1, 1, 1, innovation, 0, 1, t_11, 1, 0);
    else if (!blas_d(st, fit_c, 1, 1, 1, innovation, 0, 1, t_11, 1, 0)) {
        back(f);
        hold(f, 25, boxed(st, D, (void *)innovation, 1, (int64_t[]){1}, (int64_t[]){1}));
        if (!f->o[25]) goto fail;
        hold(f, 26, boxed(st, D, (void *)t_11, 1, (int64_t[]){1}, (int64_t[]){1}));
        if (!f->o[26]) goto fail;
        PyObject *argv[] = {f->o[25], f->o[26]};
        hold(f, 27, PyObject_Vectorcall(st->calls[10], argv, 2, 0));
        if (!f->o[27]) goto fail;
        *fit_c = PyFloat_AsDouble(f->o[27]);
        if (*fit_c == -1 && PyErr_Occurred()) goto fail;
    }
    const double fit = *fit_c;
    const double t_12 = fit + logdet;  /* golden_functions.py:107 */
    const double t_13 = 0.5 * t_12;
    const double t_17 = t_13 + t_16;
    double *const work_5 = room(f, 20, sizeof(double) * 256);
    if (!work_5) goto punt;
    double *const t_20 = room(f, 21, sizeof(double) * (1));
    if (!t_20) goto punt;
    int done_4 = 0, done_4_sign = 1; (void)done_4_sign;
    if (1 <= 16) {
        for (int64_t i0 = 0; i0 < 1; i0++)
            for (int64_t i1 = 0; i1 < 1; i1++)
                work_5[i0 * (1) + i1 * (1)] = t_19[i0 * (1) + i1 * (1)];
        memcpy(t_20, t_18, sizeof(double) * (1));
        done_4 = lu_d(work_5, t_20, 1, 1, &done_4_sign);
    }
    if (!done_4) {
        back(f);
        hold(f, 28, boxed(st, D, (void *)t_19, 2, (int64_t[]){1, 1}, (int64_t[]){1, 1}));
        if (!f->o[28]) goto fail;
        hold(f, 29, boxed(st, D, (void *)t_18, 1, (int64_t[]){1}, (int64_t[]){1}));
        if (!f->o[29]) goto fail;
        PyObject *argv[] = {f->o[28], f->o[29]};
        hold(f, 30, PyObject_Vectorcall(st->calls[11], argv, 2, 0));
        if (!f->o[30]) goto fail;
        if (!is_array(st, f->o[30], D, 1)) goto punt;
        if (ARRAY(f->o[30])->dims[0] != 1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[30])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_20, ARRAY(f->o[30])->data, sizeof(double) * (1));
        else for (int64_t i0 = 0; i0 < 1; i0++) memcpy(t_20 + i0 * (1), (const char *)ARRAY(f->o[30])->data + i0 * ARRAY(f->o[30])->strides[0], sizeof(double));
    }
    double *const t_21 = (double *)t_20;
    double *const t_23 = room(f, 23, sizeof(double) * (1));
    if (!t_23) goto punt;
    {
        const double e0_v = *t_21;
        const double e1_v = *t_11;
#pragma omp simd
        for (int64_t i = 0; i < 1; i++) {
            const double t_22_v = -e0_v;
            const double t_23_v = t_22_v * e1_v;
            t_23[i] = t_23_v;
        }
    }
    double *const work_6 = room(f, 24, sizeof(double) * 256);
    if (!work_6) goto punt;
    double *const t_24 = room(f, 25, sizeof(double) * (1));
    if (!t_24) goto punt;
    int done_5 = 0, done_5_sign = 1; (void)done_5_sign;
    if (1 <= 16) {  /* golden_functions.py:105 */
        memcpy(work_6, S, sizeof(double) * (1));
        for (int64_t i = 0; i < 1; i++) for (int64_t j = 0; j < 1; j++) t_24[i * 1 + j] = i == j;
        done_5 = lu_d(work_6, t_24, 1, 1, &done_5_sign);
    }
    if (!done_5) {
        back(f);
        hold(f, 31, boxed(st, D, (void *)S, 2, (int64_t[]){1, 1}, (int64_t[]){1, 1}));
        if (!f->o[31]) goto fail;
        PyObject *argv[] = {f->o[31]};
        hold(f, 32, PyObject_Vectorcall(st->calls[12], argv, 1, 0));
        if (!f->o[32]) goto fail;
        if (!is_array(st, f->o[32], D, 2)) goto punt;
        if (ARRAY(f->o[32])->dims[0] != 1) goto punt;
        if (ARRAY(f->o[32])->dims[1] != 1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[32])->strides[0] == (int64_t)sizeof(double) * (1)) && (1 <= 1 || ARRAY(f->o[32])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_24, ARRAY(f->o[32])->data, sizeof(double) * (1));
        else for (int64_t i0 = 0; i0 < 1; i0++) for (int64_t i1 = 0; i1 < 1; i1++) memcpy(t_24 + i0 * (1) + i1 * (1), (const char *)ARRAY(f->o[32])->data + i0 * ARRAY(f->o[32])->strides[0] + i1 * ARRAY(f->o[32])->strides[1], sizeof(double));
    }
    double *const t_25 = (double *)t_24;
    double *const t_27 = room(f, 27, sizeof(double) * (1));
    if (!t_27) goto punt;
    {
        const double e0_v = *t_25;
        const double e1_v = *t_23;
#pragma omp simd
        for (int64_t i = 0; i < 1; i++) {
            const double t_26_v = 0.5 * e0_v;
            const double t_27_v = e1_v + t_26_v;
            t_27[i] = t_27_v;
        }
    }
    double *const d_gain = room(f, 28, sizeof(double) * (H_n1));
    if (!d_gain) goto punt;
    const int64_t loop_3_n = H_n1, loop_3_chunk = 262144;
    WORK(H_n1);
    JOIN(run, loop_3_of) loop_3 = {t_28, innovation, d_gain};
    share(st, JOIN(run, loop_3), &loop_3, loop_3_n, loop_3_chunk);
    double *const t_29 = (double *)d_gain;  /* golden_functions.py:103 */
    double *const work_7 = room(f, 29, sizeof(double) * 256);
    if (!work_7) goto punt;
    double *const t_30 = room(f, 30, sizeof(double) * (H_n1));
    if (!t_30) goto punt;
    int done_6 = 0, done_6_sign = 1; (void)done_6_sign;
    if (1 <= 16) {
        for (int64_t i0 = 0; i0 < 1; i0++)
            for (int64_t i1 = 0; i1 < 1; i1++)
                work_7[i0 * (1) + i1 * (1)] = t_19[i0 * (1) + i1 * (1)];
        for (int64_t i0 = 0; i0 < 1; i0++)
        #pragma omp simd
            for (int64_t i1 = 0; i1 < H_n1; i1++)
                t_30[i0 * (H_n1) + i1 * (1)] = t_29[i0 * (1) + i1 * (1)];
        done_6 = lu_d(work_7, t_30, 1, H_n1, &done_6_sign);
    }
    if (!done_6) {
        back(f);
        hold(f, 33, boxed(st, D, (void *)t_19, 2, (int64_t[]){1, 1}, (int64_t[]){1, 1}));
        if (!f->o[33]) goto fail;
        hold(f, 34, boxed(st, D, (void *)t_29, 2, (int64_t[]){1, H_n1}, (int64_t[]){1, 1}));
        if (!f->o[34]) goto fail;
        PyObject *argv[] = {f->o[33], f->o[34]};
        hold(f, 35, PyObject_Vectorcall(st->calls[13], argv, 2, 0));
        if (!f->o[35]) goto fail;
        if (!is_array(st, f->o[35], D, 2)) goto punt;
        if (ARRAY(f->o[35])->dims[0] != 1) goto punt;
        if (ARRAY(f->o[35])->dims[1] != H_n1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[35])->strides[0] == (int64_t)sizeof(double) * (H_n1)) && (H_n1 <= 1 || ARRAY(f->o[35])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_30, ARRAY(f->o[35])->data, sizeof(double) * (H_n1));
        else for (int64_t i0 = 0; i0 < 1; i0++) for (int64_t i1 = 0; i1 < H_n1; i1++) memcpy(t_30 + i0 * (H_n1) + i1 * (1), (const char *)ARRAY(f->o[35])->data + i0 * ARRAY(f->o[35])->strides[0] + i1 * ARRAY(f->o[35])->strides[1], sizeof(double));
    }
    kept->H = H;
    kept->H_n1 = H_n1;
    kept->H_step1 = H_step1;
    kept->t_6 = t_6;
    kept->gain = gain;
    kept->t_17 = t_17;
    kept->t_27 = t_27;
    kept->t_30 = t_30;
    return 0;
punt:
fail:
    *why = 1;
    return 1;
unseen:
    *why = 2;
    return 1;
stop:
    *why = 0;
    return 1;
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    JOIN(run, parts) all_kept, *const kept = &all_kept;
    if (JOIN(run, part_0)(st, f, a, why, kept)) return 0;
    double *const H = kept->H;
    const int64_t H_n1 = kept->H_n1;
    const int64_t H_step1 = kept->H_step1;
    double *const t_6 = kept->t_6;
    double *const gain = kept->gain;
    const double t_17 = kept->t_17;
    double *const t_27 = kept->t_27;
    double *const t_30 = kept->t_30;
    double *const t_31_c = room(f, 31, sizeof(double) * (1));
    if (!t_31_c) goto punt;
    WORK(H_n1 / 4);
    if ((1) * (H_n1) * (1) <= 2048) product_d(t_31_c, 1, H_n1, 1, t_30, H_n1, 1, gain, 1, H_n1);
    else if (!blas_d(st, t_31_c, 1, H_n1, 1, t_30, H_n1, 1, gain, 1, H_n1)) {
        back(f);
        hold(f, 36, boxed(st, D, (void *)t_30, 2, (int64_t[]){1, H_n1}, (int64_t[]){H_n1, 1}));
        if (!f->o[36]) goto fail;
        hold(f, 37, boxed(st, D, (void *)gain, 2, (int64_t[]){H_n1, 1}, (int64_t[]){1, H_n1}));
        if (!f->o[37]) goto fail;
        PyObject *argv[] = {f->o[36], f->o[37]};
        hold(f, 38, PyObject_Vectorcall(st->calls[14], argv, 2, 0));
        if (!f->o[38]) goto fail;
        if (!is_array(st, f->o[38], D, 2)) goto punt;
        if (ARRAY(f->o[38])->dims[0] != 1) goto punt;
        if (ARRAY(f->o[38])->dims[1] != 1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[38])->strides[0] == (int64_t)sizeof(double) * (1)) && (1 <= 1 || ARRAY(f->o[38])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_31_c, ARRAY(f->o[38])->data, sizeof(double) * (1));
        else for (int64_t i0 = 0; i0 < 1; i0++) for (int64_t i1 = 0; i1 < 1; i1++) memcpy(t_31_c + i0 * (1) + i1 * (1), (const char *)ARRAY(f->o[38])->data + i0 * ARRAY(f->o[38])->strides[0] + i1 * ARRAY(f->o[38])->strides[1], sizeof(double));
    }
    back(f);
    double *const d_R = new_array(st, f, 39, D, 2, (int64_t[]){1, 1}, 0);
    if (!d_R) goto punt;
    {
        const double e0_v = *t_27;
        const double e1_v = *t_31_c;
#pragma omp simd
        for (int64_t i = 0; i < 1; i++) {
            const double d_R_v = e0_v - e1_v;
            d_R[i] = d_R_v;
        }
    }
    double *const t_32_c = room(f, 32, sizeof(double) * (H_n1 * H_n1));
    if (!t_32_c) goto punt;
    WORK(H_n1 * H_n1 / 4);
    if ((H_n1) * (1) * (H_n1) <= 2048) product_d(t_32_c, H_n1, 1, H_n1, t_6, H_step1, 0, t_30, H_n1, 1);
    else if (!blas_d(st, t_32_c, H_n1, 1, H_n1, t_6, H_step1, 0, t_30, H_n1, 1)) {
        back(f);
        hold(f, 40, boxed(st, D, (void *)t_6, 2, (int64_t[]){H_n1, 1}, (int64_t[]){H_step1, 0}));
        if (!f->o[40]) goto fail;
        hold(f, 41, boxed(st, D, (void *)t_30, 2, (int64_t[]){1, H_n1}, (int64_t[]){H_n1, 1}));
        if (!f->o[41]) goto fail;
        PyObject *argv[] = {f->o[40], f->o[41]};
        hold(f, 42, PyObject_Vectorcall(st->calls[15], argv, 2, 0));
        if (!f->o[42]) goto fail;
        if (!is_array(st, f->o[42], D, 2)) goto punt;
        if (ARRAY(f->o[42])->dims[0] != H_n1) goto punt;
        if (ARRAY(f->o[42])->dims[1] != H_n1) goto punt;
        if ((H_n1 <= 1 || ARRAY(f->o[42])->strides[0] == (int64_t)sizeof(double) * (H_n1)) && (H_n1 <= 1 || ARRAY(f->o[42])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_32_c, ARRAY(f->o[42])->data, sizeof(double) * (H_n1 * H_n1));
        else for (int64_t i0 = 0; i0 < H_n1; i0++) for (int64_t i1 = 0; i1 < H_n1; i1++) memcpy(t_32_c + i0 * (H_n1) + i1 * (1), (const char *)ARRAY(f->o[42])->data + i0 * ARRAY(f->o[42])->strides[0] + i1 * ARRAY(f->o[42])->strides[1], sizeof(double));
    }
    double *const t_33_c = room(f, 33, sizeof(double) * (H_n1));
    if (!t_33_c) goto punt;
    WORK(H_n1 / 4);
    if ((1) * (1) * (H_n1) <= 2048) product_d(t_33_c, 1, 1, H_n1, d_R, 1, 1, H, 0, H_step1);  /* golden_functions.py:102 */
    else if (!blas_d(st, t_33_c, 1, 1, H_n1, d_R, 1, 1, H, 0, H_step1)) {
        PyObject *argv[] = {f->o[39], a[1]};
        back(f);
        hold(f, 43, PyObject_Vectorcall(st->calls[16], argv, 2, 0));
        if (!f->o[43]) goto fail;
        if (!is_array(st, f->o[43], D, 2)) goto punt;
        if (ARRAY(f->o[43])->dims[0] != 1) goto punt;
        if (ARRAY(f->o[43])->dims[1] != H_n1) goto punt;
        if ((1 <= 1 || ARRAY(f->o[43])->strides[0] == (int64_t)sizeof(double) * (H_n1)) && (H_n1 <= 1 || ARRAY(f->o[43])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_33_c, ARRAY(f->o[43])->data, sizeof(double) * (H_n1));
        else for (int64_t i0 = 0; i0 < 1; i0++) for (int64_t i1 = 0; i1 < H_n1; i1++) memcpy(t_33_c + i0 * (H_n1) + i1 * (1), (const char *)ARRAY(f->o[43])->data + i0 * ARRAY(f->o[43])->strides[0] + i1 * ARRAY(f->o[43])->strides[1], sizeof(double));
    }
    double *const t_34_c = room(f, 34, sizeof(double) * (H_n1 * H_n1));
    if (!t_34_c) goto punt;
    WORK(H_n1 * H_n1 / 4);
    if ((H_n1) * (1) * (H_n1) <= 2048) product_d(t_34_c, H_n1, 1, H_n1, t_6, H_step1, 0, t_33_c, H_n1, 1);
    else if (!blas_d(st, t_34_c, H_n1, 1, H_n1, t_6, H_step1, 0, t_33_c, H_n1, 1)) {
        back(f);
        hold(f, 44, boxed(st, D, (void *)t_6, 2, (int64_t[]){H_n1, 1}, (int64_t[]){H_step1, 0}));
        if (!f->o[44]) goto fail;
        hold(f, 45, boxed(st, D, (void *)t_33_c, 2, (int64_t[]){1, H_n1}, (int64_t[]){H_n1, 1}));
        if (!f->o[45]) goto fail;
        PyObject *argv[] = {f->o[44], f->o[45]};
        hold(f, 46, PyObject_Vectorcall(st->calls[17], argv, 2, 0));
        if (!f->o[46]) goto fail;
        if (!is_array(st, f->o[46], D, 2)) goto punt;
        if (ARRAY(f->o[46])->dims[0] != H_n1) goto punt;
        if (ARRAY(f->o[46])->dims[1] != H_n1) goto punt;
        if ((H_n1 <= 1 || ARRAY(f->o[46])->strides[0] == (int64_t)sizeof(double) * (H_n1)) && (H_n1 <= 1 || ARRAY(f->o[46])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_34_c, ARRAY(f->o[46])->data, sizeof(double) * (H_n1 * H_n1));
        else for (int64_t i0 = 0; i0 < H_n1; i0++) for (int64_t i1 = 0; i1 < H_n1; i1++) memcpy(t_34_c + i0 * (H_n1) + i1 * (1), (const char *)ARRAY(f->o[46])->data + i0 * ARRAY(f->o[46])->strides[0] + i1 * ARRAY(f->o[46])->strides[1], sizeof(double));
    }
    back(f);
    double *const d_Q = new_array(st, f, 47, D, 2, (int64_t[]){H_n1, H_n1}, 0);
    if (!d_Q) goto punt;
    const int64_t loop_4_n = H_n1 * H_n1, loop_4_chunk = 262144;
    WORK(H_n1 * H_n1);
    JOIN(run, loop_4_of) loop_4 = {t_32_c, t_34_c, d_Q};
    share(st, JOIN(run, loop_4), &loop_4, loop_4_n, loop_4_chunk);
    back(f);
    hold(f, 48, PyTuple_New(2));
    if (!f->o[48]) goto fail;
    hold(f, 49, scalar(st, D, t_17, 0));
    if (!f->o[49]) goto fail;
    PyTuple_SetItem(f->o[48], 0, again(f->o[49]));
    hold(f, 50, PyTuple_New(2));
    if (!f->o[50]) goto fail;
    hold(f, 51, again(f->o[47]));
    if (!f->o[51]) goto fail;
    PyTuple_SetItem(f->o[50], 0, again(f->o[51]));
    hold(f, 52, again(f->o[39]));
    if (!f->o[52]) goto fail;
    PyTuple_SetItem(f->o[50], 1, again(f->o[52]));
    PyTuple_SetItem(f->o[48], 1, again(f->o[50]));
    PyObject *const whole = again(f->o[48]);
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
