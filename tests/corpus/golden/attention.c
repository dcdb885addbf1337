#define ARGUMENTS 3
#define SLOTS 28
#define OBJECTS 23
#define STACKS 0

typedef struct {
    int64_t k_2_n0;
    double *t_2_c, *scores, *t_4;
    double t_3;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    const int64_t k_2_n0 = of->k_2_n0;
    double *const t_2_c = of->t_2_c, *const scores = of->scores, *const t_4 = of->t_4;
    const double t_3 = of->t_3;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_2_c + i0 * k_2_n0;
            double *scores_r = scores + i0 * (k_2_n0);
            double *t_4_r = t_4 + i0 * (1);
            double t_4_b = -INFINITY;
            #pragma omp simd reduction(max_d:t_4_b)
            for (int64_t i = 0; i < k_2_n0; i++) {
                const double e0_v = e0_r[i];
                const double scores_v = e0_v / t_3;
                scores_r[i] = scores_v;
                t_4_b = max_d(scores_v, t_4_b);  /* golden_functions.py:75 */
            }
            t_4_r[0] = max_d(t_4_b, t_4_r[0]);
        }
    }
}

typedef struct {
    int64_t k_2_n0;
    double *scores, *t_4, *e_2, *t_6;
    uint8_t *t_21;
    int64_t *t_22;
} JOIN(run, loop_2_of);
static __attribute__((noinline)) void JOIN(run, loop_2)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_2_of) *const of = all;
    const int64_t k_2_n0 = of->k_2_n0;
    double *const scores = of->scores, *const t_4 = of->t_4, *const e_2 = of->e_2, *const t_6 = of->t_6;
    uint8_t *const t_21 = of->t_21;
    int64_t *const t_22 = of->t_22;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = scores + i0 * k_2_n0;
            const double *e1_r = t_4 + i0 * 1;
            double *e_2_r = e_2 + i0 * (k_2_n0);
            uint8_t *t_21_r = t_21 + i0 * (k_2_n0);
            double *t_6_r = t_6 + i0 * (1);
            int64_t *t_22_r = t_22 + i0 * (1);
            sums_d t_6_s; t_6_s.n = 0;
            sums_l t_22_s; t_22_s.n = 0;
            const double e1_v = *e1_r;
            for (int64_t b = 0; b < k_2_n0; b += 512) {
                const int64_t end = b + 512 < k_2_n0 ? b + 512 : k_2_n0;
                double t_6_b = 0;
                int64_t t_22_b = 0;
            #pragma omp simd reduction(+:t_6_b) reduction(+:t_22_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i];
                    const double t_5_v = e0_v - e1_v;
                    const double e_2_v = exp(t_5_v);
                    e_2_r[i] = e_2_v;
                    t_6_b += e_2_v;  /* golden_functions.py:76 */
                    const uint8_t t_21_v = e0_v == e1_v;
                    t_21_r[i] = t_21_v;
                    t_22_b += (int64_t)t_21_v;
                }
                add_d(&t_6_s, t_6_b);
                add_l(&t_22_s, t_22_b);
            }
            t_6[i0 * (1)] = total_d(&t_6_s);
            t_22[i0 * (1)] = total_l(&t_22_s);
        }
    }
}

typedef struct {
    int64_t k_2_n0;
    double *e_2, *t_6, *weights;
} JOIN(run, loop_3_of);
static __attribute__((noinline)) void JOIN(run, loop_3)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_3_of) *const of = all;
    const int64_t k_2_n0 = of->k_2_n0;
    double *const e_2 = of->e_2, *const t_6 = of->t_6, *const weights = of->weights;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = e_2 + i0 * k_2_n0;
            const double *e1_r = t_6 + i0 * 1;
            double *weights_r = weights + i0 * (k_2_n0);
            const double e1_v = *e1_r;
            #pragma omp simd
            for (int64_t i = 0; i < k_2_n0; i++) {
                const double e0_v = e0_r[i];
                const double weights_v = e0_v / e1_v;
                weights_r[i] = weights_v;
            }
        }
    }
}

typedef struct {
    double *t_7_c, *t_10, *t_9_s;
} JOIN(run, loop_4_of);
static __attribute__((noinline)) void JOIN(run, loop_4)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_4_of) *const of = all;
    double *const t_7_c = of->t_7_c, *const t_10 = of->t_10;
    sums_d t_9_s; t_9_s.n = 0;
    {
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_9_b = 0;
#pragma omp simd reduction(+:t_9_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = t_7_c[i];
                const double t_8_v = e0_v * e0_v;
                t_9_b += t_8_v;
                const double t_10_v = 2.0 * e0_v;
                t_10[i] = t_10_v;
            }
            add_d(&t_9_s, t_9_b);
        }
    }
    of->t_9_s[k] = total_d(&t_9_s);
}

typedef struct {
    int64_t k_2_n0;
    double *d_weights_c, *t_6, *weights, *t_13, *t_15;
} JOIN(run, loop_5_of);
static __attribute__((noinline)) void JOIN(run, loop_5)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_5_of) *const of = all;
    const int64_t k_2_n0 = of->k_2_n0;
    double *const d_weights_c = of->d_weights_c, *const t_6 = of->t_6, *const weights = of->weights, *const t_13 = of->t_13, *const t_15 = of->t_15;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = d_weights_c + i0 * k_2_n0;
            const double *e1_r = t_6 + i0 * 1;
            const double *e2_r = weights + i0 * k_2_n0;
            double *t_13_r = t_13 + i0 * (k_2_n0);
            double *t_15_r = t_15 + i0 * (1);
            sums_d t_15_s; t_15_s.n = 0;
            const double e1_v = *e1_r;
            for (int64_t b = 0; b < k_2_n0; b += 512) {
                const int64_t end = b + 512 < k_2_n0 ? b + 512 : k_2_n0;
                double t_15_b = 0;
            #pragma omp simd reduction(+:t_15_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i];
                    const double e2_v = e2_r[i];
                    const double t_13_v = e0_v / e1_v;  /* golden_functions.py:76 */
                    t_13_r[i] = t_13_v;
                    const double t_14_v = e0_v * e2_v;
                    t_15_b += t_14_v;
                }
                add_d(&t_15_s, t_15_b);
            }
            t_15[i0 * (1)] = total_d(&t_15_s);
        }
    }
}

typedef struct {
    double *t_15, *t_6, *t_17;
} JOIN(run, loop_6_of);
static __attribute__((noinline)) void JOIN(run, loop_6)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_6_of) *const of = all;
    double *const t_15 = of->t_15, *const t_6 = of->t_6, *const t_17 = of->t_17;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_15[i];
            const double e1_v = t_6[i];
            const double t_16_v = -e0_v;
            const double t_17_v = t_16_v / e1_v;
            t_17[i] = t_17_v;
        }
    }
}

typedef struct {
    int64_t k_2_n0;
    double *t_13, *t_17, *e_2, *t_18, *t_19;
} JOIN(run, loop_7_of);
static __attribute__((noinline)) void JOIN(run, loop_7)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_7_of) *const of = all;
    const int64_t k_2_n0 = of->k_2_n0;
    double *const t_13 = of->t_13, *const t_17 = of->t_17, *const e_2 = of->e_2, *const t_18 = of->t_18, *const t_19 = of->t_19;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_13 + i0 * k_2_n0;
            const double *e1_r = t_17 + i0 * 1;
            const double *e2_r = e_2 + i0 * k_2_n0;
            double *t_18_r = t_18 + i0 * (k_2_n0);
            double *t_19_r = t_19 + i0 * (1);
            sums_d t_19_s; t_19_s.n = 0;
            const double e1_v = *e1_r;
            for (int64_t b = 0; b < k_2_n0; b += 512) {
                const int64_t end = b + 512 < k_2_n0 ? b + 512 : k_2_n0;
                double t_19_b = 0;
            #pragma omp simd reduction(+:t_19_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i];
                    const double e2_v = e2_r[i];
                    const double d_e_v = e0_v + e1_v;
                    const double t_18_v = d_e_v * e2_v;  /* golden_functions.py:75 */
                    t_18_r[i] = t_18_v;
                    t_19_b += t_18_v;
                }
                add_d(&t_19_s, t_19_b);
            }
            t_19[i0 * (1)] = total_d(&t_19_s);
        }
    }
}

typedef struct {
    double *t_19, *t_23;
    int64_t *t_22;
} JOIN(run, loop_8_of);
static __attribute__((noinline)) void JOIN(run, loop_8)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_8_of) *const of = all;
    double *const t_19 = of->t_19, *const t_23 = of->t_23;
    int64_t *const t_22 = of->t_22;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_19[i];
            const int64_t e1_v = t_22[i];
            const double t_20_v = -e0_v;
            const double t_23_v = t_20_v / (double)e1_v;
            t_23[i] = t_23_v;
        }
    }
}

typedef struct {
    int64_t k_2_n0;
    uint8_t *t_21;
    double *t_23, *t_18, *t_25;
    double t_3;
} JOIN(run, loop_9_of);
static __attribute__((noinline)) void JOIN(run, loop_9)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_9_of) *const of = all;
    const int64_t k_2_n0 = of->k_2_n0;
    uint8_t *const t_21 = of->t_21;
    double *const t_23 = of->t_23, *const t_18 = of->t_18, *const t_25 = of->t_25;
    const double t_3 = of->t_3;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const uint8_t *e0_r = t_21 + i0 * k_2_n0;
            const double *e1_r = t_23 + i0 * 1;
            const double *e2_r = t_18 + i0 * k_2_n0;
            double *t_25_r = t_25 + i0 * (k_2_n0);
            const double e1_v = *e1_r;
            #pragma omp simd
            for (int64_t i = 0; i < k_2_n0; i++) {
                const uint8_t e0_v = e0_r[i];
                const double e2_v = e2_r[i];
                const double t_24_v = (double)e0_v * e1_v;
                const double d_scores_v = e2_v + t_24_v;
                const double t_25_v = d_scores_v / t_3;  /* golden_functions.py:80 */
                t_25_r[i] = t_25_v;
            }
        }
    }
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    if (!is_array(st, a[0], D, 2)) goto punt;
    double *const q = (double *)ARRAY(a[0])->data;
    const int64_t q_n0 = ARRAY(a[0])->dims[0];
    const int64_t q_step0 = ARRAY(a[0])->strides[0] / (int64_t)sizeof(double);
    const int64_t q_n1 = ARRAY(a[0])->dims[1];
    const int64_t q_step1 = ARRAY(a[0])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[1], D, 2)) goto punt;
    double *const k_2 = (double *)ARRAY(a[1])->data;
    const int64_t k_2_n0 = ARRAY(a[1])->dims[0];
    const int64_t k_2_step0 = ARRAY(a[1])->strides[0] / (int64_t)sizeof(double);
    const int64_t k_2_n1 = ARRAY(a[1])->dims[1];
    const int64_t k_2_step1 = ARRAY(a[1])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[2], D, 2)) goto punt;
    double *const v = (double *)ARRAY(a[2])->data;
    const int64_t v_n0 = ARRAY(a[2])->dims[0];
    const int64_t v_step0 = ARRAY(a[2])->strides[0] / (int64_t)sizeof(double);
    const int64_t v_n1 = ARRAY(a[2])->dims[1];
    const int64_t v_step1 = ARRAY(a[2])->strides[1] / (int64_t)sizeof(double);
    double *const t = (double *)k_2;  /* golden_functions.py:80 */
    if (q_n1 != k_2_n1) goto punt;
    const double t_3 = sqrt((double)q_n1);
    if (k_2_n0 != v_n0) goto punt;
    double *const t_11 = (double *)v;
    double *const t_26 = (double *)q;
    double *const t_2_c = room(f, 0, sizeof(double) * (q_n0 * k_2_n0));
    if (!t_2_c) goto punt;
    WORK(q_n0 * q_n1 * k_2_n0 / 4);
    if ((q_n0) * (q_n1) * (k_2_n0) <= 2048) product_d(t_2_c, q_n0, q_n1, k_2_n0, q, q_step0, q_step1, t, k_2_step1, k_2_step0);
    else if (!blas_d(st, t_2_c, q_n0, q_n1, k_2_n0, q, q_step0, q_step1, t, k_2_step1, k_2_step0)) {
        back(f);
        hold(f, 0, boxed(st, D, (void *)t, 2, (int64_t[]){k_2_n1, k_2_n0}, (int64_t[]){k_2_step1, k_2_step0}));
        if (!f->o[0]) goto fail;
        PyObject *argv[] = {a[0], f->o[0]};
        hold(f, 1, PyObject_Vectorcall(st->calls[0], argv, 2, 0));
        if (!f->o[1]) goto fail;
        if (!is_array(st, f->o[1], D, 2)) goto punt;
        if (ARRAY(f->o[1])->dims[0] != q_n0) goto punt;
        if (ARRAY(f->o[1])->dims[1] != k_2_n0) goto punt;
        if ((q_n0 <= 1 || ARRAY(f->o[1])->strides[0] == (int64_t)sizeof(double) * (k_2_n0)) && (k_2_n0 <= 1 || ARRAY(f->o[1])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_2_c, ARRAY(f->o[1])->data, sizeof(double) * (q_n0 * k_2_n0));
        else for (int64_t i0 = 0; i0 < q_n0; i0++) for (int64_t i1 = 0; i1 < k_2_n0; i1++) memcpy(t_2_c + i0 * (k_2_n0) + i1 * (1), (const char *)ARRAY(f->o[1])->data + i0 * ARRAY(f->o[1])->strides[0] + i1 * ARRAY(f->o[1])->strides[1], sizeof(double));
    }
    double *const scores = room(f, 1, sizeof(double) * (q_n0 * k_2_n0));
    if (!scores) goto punt;
    double *const t_4 = room(f, 2, sizeof(double) * (q_n0));
    if (!t_4) goto punt;
    if (k_2_n0 == 0) goto punt;
    const int64_t loop_n = q_n0, loop_chunk = rows_of(2 * k_2_n0 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < q_n0; i++) t_4[i] = -INFINITY;
    WORK(q_n0 * k_2_n0 * 2);
    JOIN(run, loop_of) loop = {k_2_n0, t_2_c, scores, t_4, t_3};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    double *const e_2 = room(f, 4, sizeof(double) * (q_n0 * k_2_n0));
    if (!e_2) goto punt;
    uint8_t *const t_21 = room(f, 20, sizeof(uint8_t) * (q_n0 * k_2_n0));
    if (!t_21) goto punt;
    double *const t_6 = room(f, 5, sizeof(double) * (q_n0));
    if (!t_6) goto punt;
    int64_t *const t_22 = room(f, 21, sizeof(int64_t) * (q_n0));
    if (!t_22) goto punt;
    const int64_t loop_2_n = q_n0, loop_2_chunk = rows_of(8 * k_2_n0 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < q_n0; i++) t_6[i] = 0;
    for (int64_t i = 0; i < q_n0; i++) t_22[i] = 0;
    WORK(q_n0 * k_2_n0 * 5);
    JOIN(run, loop_2_of) loop_2 = {k_2_n0, scores, t_4, e_2, t_6, t_21, t_22};
    share(st, JOIN(run, loop_2), &loop_2, loop_2_n, loop_2_chunk);
    double *const weights = room(f, 6, sizeof(double) * (q_n0 * k_2_n0));
    if (!weights) goto punt;
    const int64_t loop_3_n = q_n0, loop_3_chunk = rows_of(1 * k_2_n0 + 256 * 1, 262144, 1);
    WORK(q_n0 * k_2_n0);
    JOIN(run, loop_3_of) loop_3 = {k_2_n0, e_2, t_6, weights};
    share(st, JOIN(run, loop_3), &loop_3, loop_3_n, loop_3_chunk);
    double *const t_12 = (double *)weights;
    double *const t_7_c = room(f, 7, sizeof(double) * (q_n0 * v_n1));
    if (!t_7_c) goto punt;
    WORK(q_n0 * k_2_n0 * v_n1 / 4);
    if ((q_n0) * (k_2_n0) * (v_n1) <= 2048) product_d(t_7_c, q_n0, k_2_n0, v_n1, weights, k_2_n0, 1, v, v_step0, v_step1);  /* golden_functions.py:82 */
    else if (!blas_d(st, t_7_c, q_n0, k_2_n0, v_n1, weights, k_2_n0, 1, v, v_step0, v_step1)) {
        back(f);
        hold(f, 2, boxed(st, D, (void *)weights, 2, (int64_t[]){q_n0, k_2_n0}, (int64_t[]){k_2_n0, 1}));
        if (!f->o[2]) goto fail;
        PyObject *argv[] = {f->o[2], a[2]};
        hold(f, 3, PyObject_Vectorcall(st->calls[1], argv, 2, 0));
        if (!f->o[3]) goto fail;
        if (!is_array(st, f->o[3], D, 2)) goto punt;
        if (ARRAY(f->o[3])->dims[0] != q_n0) goto punt;
        if (ARRAY(f->o[3])->dims[1] != v_n1) goto punt;
        if ((q_n0 <= 1 || ARRAY(f->o[3])->strides[0] == (int64_t)sizeof(double) * (v_n1)) && (v_n1 <= 1 || ARRAY(f->o[3])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_7_c, ARRAY(f->o[3])->data, sizeof(double) * (q_n0 * v_n1));
        else for (int64_t i0 = 0; i0 < q_n0; i0++) for (int64_t i1 = 0; i1 < v_n1; i1++) memcpy(t_7_c + i0 * (v_n1) + i1 * (1), (const char *)ARRAY(f->o[3])->data + i0 * ARRAY(f->o[3])->strides[0] + i1 * ARRAY(f->o[3])->strides[1], sizeof(double));
    }
    double *const t_10 = room(f, 9, sizeof(double) * (q_n0 * v_n1));
    if (!t_10) goto punt;
    const int64_t loop_4_n = q_n0 * v_n1, loop_4_chunk = 65536;
    const int64_t loop_4_chunks = (loop_4_n + loop_4_chunk - 1) / loop_4_chunk;
    double *const t_9_s = room(f, 27, sizeof(double) * (loop_4_chunks));
    if (!t_9_s) goto punt;
    WORK(q_n0 * v_n1 * 3);
    JOIN(run, loop_4_of) loop_4 = {t_7_c, t_10, t_9_s};
    share(st, JOIN(run, loop_4), &loop_4, loop_4_n, loop_4_chunk);
    const double t_9 = summed_d(t_9_s, loop_4_chunks, loop_4_n % loop_4_chunk != 0);
    double *const d_weights_c = room(f, 10, sizeof(double) * (q_n0 * k_2_n0));
    if (!d_weights_c) goto punt;
    WORK(q_n0 * v_n1 * k_2_n0 / 4);
    if ((q_n0) * (v_n1) * (k_2_n0) <= 2048) product_d(d_weights_c, q_n0, v_n1, k_2_n0, t_10, v_n1, 1, t_11, v_step1, v_step0);
    else if (!blas_d(st, d_weights_c, q_n0, v_n1, k_2_n0, t_10, v_n1, 1, t_11, v_step1, v_step0)) {
        back(f);
        hold(f, 4, boxed(st, D, (void *)t_10, 2, (int64_t[]){q_n0, v_n1}, (int64_t[]){v_n1, 1}));
        if (!f->o[4]) goto fail;
        hold(f, 5, boxed(st, D, (void *)t_11, 2, (int64_t[]){v_n1, k_2_n0}, (int64_t[]){v_step1, v_step0}));
        if (!f->o[5]) goto fail;
        PyObject *argv[] = {f->o[4], f->o[5]};
        hold(f, 6, PyObject_Vectorcall(st->calls[2], argv, 2, 0));
        if (!f->o[6]) goto fail;
        if (!is_array(st, f->o[6], D, 2)) goto punt;
        if (ARRAY(f->o[6])->dims[0] != q_n0) goto punt;
        if (ARRAY(f->o[6])->dims[1] != k_2_n0) goto punt;
        if ((q_n0 <= 1 || ARRAY(f->o[6])->strides[0] == (int64_t)sizeof(double) * (k_2_n0)) && (k_2_n0 <= 1 || ARRAY(f->o[6])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_weights_c, ARRAY(f->o[6])->data, sizeof(double) * (q_n0 * k_2_n0));
        else for (int64_t i0 = 0; i0 < q_n0; i0++) for (int64_t i1 = 0; i1 < k_2_n0; i1++) memcpy(d_weights_c + i0 * (k_2_n0) + i1 * (1), (const char *)ARRAY(f->o[6])->data + i0 * ARRAY(f->o[6])->strides[0] + i1 * ARRAY(f->o[6])->strides[1], sizeof(double));
    }
    back(f);
    double *const d_v_2_c = new_array(st, f, 7, D, 2, (int64_t[]){k_2_n0, v_n1}, 0);
    if (!d_v_2_c) goto punt;
    WORK(k_2_n0 * q_n0 * v_n1 / 4);
    if ((k_2_n0) * (q_n0) * (v_n1) <= 2048) product_d(d_v_2_c, k_2_n0, q_n0, v_n1, t_12, 1, k_2_n0, t_10, v_n1, 1);
    else if (!blas_d(st, d_v_2_c, k_2_n0, q_n0, v_n1, t_12, 1, k_2_n0, t_10, v_n1, 1)) {
        back(f);
        hold(f, 8, boxed(st, D, (void *)t_12, 2, (int64_t[]){k_2_n0, q_n0}, (int64_t[]){1, k_2_n0}));
        if (!f->o[8]) goto fail;
        hold(f, 9, boxed(st, D, (void *)t_10, 2, (int64_t[]){q_n0, v_n1}, (int64_t[]){v_n1, 1}));
        if (!f->o[9]) goto fail;
        PyObject *argv[] = {f->o[8], f->o[9]};
        hold(f, 10, PyObject_Vectorcall(st->calls[3], argv, 2, 0));
        if (!f->o[10]) goto fail;
        if (!is_array(st, f->o[10], D, 2)) goto punt;
        if (ARRAY(f->o[10])->dims[0] != k_2_n0) goto punt;
        if (ARRAY(f->o[10])->dims[1] != v_n1) goto punt;
        if ((k_2_n0 <= 1 || ARRAY(f->o[10])->strides[0] == (int64_t)sizeof(double) * (v_n1)) && (v_n1 <= 1 || ARRAY(f->o[10])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_v_2_c, ARRAY(f->o[10])->data, sizeof(double) * (k_2_n0 * v_n1));
        else for (int64_t i0 = 0; i0 < k_2_n0; i0++) for (int64_t i1 = 0; i1 < v_n1; i1++) memcpy(d_v_2_c + i0 * (v_n1) + i1 * (1), (const char *)ARRAY(f->o[10])->data + i0 * ARRAY(f->o[10])->strides[0] + i1 * ARRAY(f->o[10])->strides[1], sizeof(double));
    }
    double *const t_13 = room(f, 11, sizeof(double) * (q_n0 * k_2_n0));
    if (!t_13) goto punt;
    double *const t_15 = room(f, 13, sizeof(double) * (q_n0));
    if (!t_15) goto punt;
    const int64_t loop_5_n = q_n0, loop_5_chunk = rows_of(3 * k_2_n0 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < q_n0; i++) t_15[i] = 0;
    WORK(q_n0 * k_2_n0 * 3);
    JOIN(run, loop_5_of) loop_5 = {k_2_n0, d_weights_c, t_6, weights, t_13, t_15};
    share(st, JOIN(run, loop_5), &loop_5, loop_5_n, loop_5_chunk);
    double *const t_17 = room(f, 15, sizeof(double) * (q_n0));
    if (!t_17) goto punt;
    const int64_t loop_6_n = q_n0, loop_6_chunk = 131072;
    WORK(q_n0 * 2);
    JOIN(run, loop_6_of) loop_6 = {t_15, t_6, t_17};
    share(st, JOIN(run, loop_6), &loop_6, loop_6_n, loop_6_chunk);
    double *const t_18 = room(f, 17, sizeof(double) * (q_n0 * k_2_n0));
    if (!t_18) goto punt;
    double *const t_19 = room(f, 18, sizeof(double) * (q_n0));
    if (!t_19) goto punt;
    const int64_t loop_7_n = q_n0, loop_7_chunk = rows_of(3 * k_2_n0 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < q_n0; i++) t_19[i] = 0;
    WORK(q_n0 * k_2_n0 * 3);
    JOIN(run, loop_7_of) loop_7 = {k_2_n0, t_13, t_17, e_2, t_18, t_19};
    share(st, JOIN(run, loop_7), &loop_7, loop_7_n, loop_7_chunk);
    double *const t_23 = room(f, 22, sizeof(double) * (q_n0));
    if (!t_23) goto punt;
    const int64_t loop_8_n = q_n0, loop_8_chunk = 131072;
    WORK(q_n0 * 2);
    JOIN(run, loop_8_of) loop_8 = {t_19, t_23, t_22};
    share(st, JOIN(run, loop_8), &loop_8, loop_8_n, loop_8_chunk);
    double *const t_25 = room(f, 25, sizeof(double) * (q_n0 * k_2_n0));
    if (!t_25) goto punt;
    const int64_t loop_9_n = q_n0, loop_9_chunk = rows_of(3 * k_2_n0 + 256 * 1, 262144, 1);
    WORK(q_n0 * k_2_n0 * 3);
    JOIN(run, loop_9_of) loop_9 = {k_2_n0, t_21, t_23, t_18, t_25, t_3};
    share(st, JOIN(run, loop_9), &loop_9, loop_9_n, loop_9_chunk);
    back(f);
    double *const d_q_c = new_array(st, f, 11, D, 2, (int64_t[]){q_n0, q_n1}, 0);
    if (!d_q_c) goto punt;
    WORK(q_n0 * k_2_n0 * k_2_n1 / 4);
    if ((q_n0) * (k_2_n0) * (k_2_n1) <= 2048) product_d(d_q_c, q_n0, k_2_n0, k_2_n1, t_25, k_2_n0, 1, k_2, k_2_step0, k_2_step1);
    else if (!blas_d(st, d_q_c, q_n0, k_2_n0, k_2_n1, t_25, k_2_n0, 1, k_2, k_2_step0, k_2_step1)) {
        back(f);
        hold(f, 12, boxed(st, D, (void *)t_25, 2, (int64_t[]){q_n0, k_2_n0}, (int64_t[]){k_2_n0, 1}));
        if (!f->o[12]) goto fail;
        PyObject *argv[] = {f->o[12], a[1]};
        hold(f, 13, PyObject_Vectorcall(st->calls[4], argv, 2, 0));
        if (!f->o[13]) goto fail;
        if (!is_array(st, f->o[13], D, 2)) goto punt;
        if (ARRAY(f->o[13])->dims[0] != q_n0) goto punt;
        if (ARRAY(f->o[13])->dims[1] != q_n1) goto punt;
        if ((q_n0 <= 1 || ARRAY(f->o[13])->strides[0] == (int64_t)sizeof(double) * (q_n1)) && (q_n1 <= 1 || ARRAY(f->o[13])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_q_c, ARRAY(f->o[13])->data, sizeof(double) * (q_n0 * q_n1));
        else for (int64_t i0 = 0; i0 < q_n0; i0++) for (int64_t i1 = 0; i1 < q_n1; i1++) memcpy(d_q_c + i0 * (q_n1) + i1 * (1), (const char *)ARRAY(f->o[13])->data + i0 * ARRAY(f->o[13])->strides[0] + i1 * ARRAY(f->o[13])->strides[1], sizeof(double));
    }
    double *const t_27_c = room(f, 26, sizeof(double) * (q_n1 * k_2_n0));
    if (!t_27_c) goto punt;
    WORK(q_n1 * q_n0 * k_2_n0 / 4);
    if ((q_n1) * (q_n0) * (k_2_n0) <= 2048) product_d(t_27_c, q_n1, q_n0, k_2_n0, t_26, q_step1, q_step0, t_25, k_2_n0, 1);
    else if (!blas_d(st, t_27_c, q_n1, q_n0, k_2_n0, t_26, q_step1, q_step0, t_25, k_2_n0, 1)) {
        back(f);
        hold(f, 14, boxed(st, D, (void *)t_26, 2, (int64_t[]){q_n1, q_n0}, (int64_t[]){q_step1, q_step0}));
        if (!f->o[14]) goto fail;
        hold(f, 15, boxed(st, D, (void *)t_25, 2, (int64_t[]){q_n0, k_2_n0}, (int64_t[]){k_2_n0, 1}));
        if (!f->o[15]) goto fail;
        PyObject *argv[] = {f->o[14], f->o[15]};
        hold(f, 16, PyObject_Vectorcall(st->calls[5], argv, 2, 0));
        if (!f->o[16]) goto fail;
        if (!is_array(st, f->o[16], D, 2)) goto punt;
        if (ARRAY(f->o[16])->dims[0] != q_n1) goto punt;
        if (ARRAY(f->o[16])->dims[1] != k_2_n0) goto punt;
        if ((q_n1 <= 1 || ARRAY(f->o[16])->strides[0] == (int64_t)sizeof(double) * (k_2_n0)) && (k_2_n0 <= 1 || ARRAY(f->o[16])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_27_c, ARRAY(f->o[16])->data, sizeof(double) * (q_n1 * k_2_n0));
        else for (int64_t i0 = 0; i0 < q_n1; i0++) for (int64_t i1 = 0; i1 < k_2_n0; i1++) memcpy(t_27_c + i0 * (k_2_n0) + i1 * (1), (const char *)ARRAY(f->o[16])->data + i0 * ARRAY(f->o[16])->strides[0] + i1 * ARRAY(f->o[16])->strides[1], sizeof(double));
    }
    double *const d_k = (double *)t_27_c;
    back(f);
    hold(f, 17, PyTuple_New(2));
    if (!f->o[17]) goto fail;
    hold(f, 18, scalar(st, D, t_9, 0));
    if (!f->o[18]) goto fail;
    PyTuple_SetItem(f->o[17], 0, again(f->o[18]));
    hold(f, 19, PyTuple_New(3));
    if (!f->o[19]) goto fail;
    hold(f, 20, again(f->o[11]));
    if (!f->o[20]) goto fail;
    PyTuple_SetItem(f->o[19], 0, again(f->o[20]));
    {
        double *const given_2 = new_array(st, f, 21, D, 2, (int64_t[]){k_2_n0, q_n1}, (int64_t[]){1, k_2_n0});
        if (!given_2) goto punt;
        for (int64_t i0 = 0; i0 < k_2_n0; i0++)
            for (int64_t i1 = 0; i1 < q_n1; i1++)
                given_2[i0 * (1) + i1 * (k_2_n0)] = d_k[i0 * (1) + i1 * (k_2_n0)];
    }
    if (!f->o[21]) goto fail;
    PyTuple_SetItem(f->o[19], 1, again(f->o[21]));
    hold(f, 22, again(f->o[7]));
    if (!f->o[22]) goto fail;
    PyTuple_SetItem(f->o[19], 2, again(f->o[22]));
    PyTuple_SetItem(f->o[17], 1, again(f->o[19]));
    PyObject *const whole = again(f->o[17]);
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
