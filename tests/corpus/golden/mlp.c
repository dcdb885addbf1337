#define ARGUMENTS 3
#define SLOTS 27
#define OBJECTS 41
#define STACKS 0

typedef struct {
    int64_t w1_n1, b1_step0;
    double *t_c, *b1, *h1;
    uint8_t *t_22, *t_23;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    const int64_t w1_n1 = of->w1_n1, b1_step0 = of->b1_step0;
    double *const t_c = of->t_c, *const b1 = of->b1, *const h1 = of->h1;
    uint8_t *const t_22 = of->t_22, *const t_23 = of->t_23;
    if (b1_step0 == 1) {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_c + i0 * w1_n1;
            const double *e1_r = b1;
            double *h1_r = h1 + i0 * (w1_n1);
            uint8_t *t_22_r = t_22 + i0 * (w1_n1);
            uint8_t *t_23_r = t_23 + i0 * (w1_n1);
            #pragma omp simd
            for (int64_t i = 0; i < w1_n1; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i];
                const double t_2_v = e0_v + e1_v;
                const double h1_v = max_d(t_2_v, 0.0);  /* golden_functions.py:56 */
                h1_r[i] = h1_v;
                const uint8_t t_22_v = t_2_v < 0.0;  /* golden_functions.py:56 */
                t_22_r[i] = t_22_v;
                const uint8_t t_23_v = t_2_v == 0.0;
                t_23_r[i] = t_23_v;
            }
        }
    } else {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_c + i0 * w1_n1;
            const double *e1_r = b1;
            double *h1_r = h1 + i0 * (w1_n1);
            uint8_t *t_22_r = t_22 + i0 * (w1_n1);
            uint8_t *t_23_r = t_23 + i0 * (w1_n1);
            #pragma omp simd
            for (int64_t i = 0; i < w1_n1; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i * b1_step0];
                const double t_2_v = e0_v + e1_v;
                const double h1_v = max_d(t_2_v, 0.0);  /* golden_functions.py:56 */
                h1_r[i] = h1_v;
                const uint8_t t_22_v = t_2_v < 0.0;  /* golden_functions.py:56 */
                t_22_r[i] = t_22_v;
                const uint8_t t_23_v = t_2_v == 0.0;
                t_23_r[i] = t_23_v;
            }
        }
    }
}

typedef struct {
    int64_t w2_n1, b2_step0;
    double *t_3_c, *b2, *h2;
    uint8_t *t_15, *t_16;
} JOIN(run, loop_2_of);
static __attribute__((noinline)) void JOIN(run, loop_2)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_2_of) *const of = all;
    const int64_t w2_n1 = of->w2_n1, b2_step0 = of->b2_step0;
    double *const t_3_c = of->t_3_c, *const b2 = of->b2, *const h2 = of->h2;
    uint8_t *const t_15 = of->t_15, *const t_16 = of->t_16;
    if (b2_step0 == 1) {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_3_c + i0 * w2_n1;
            const double *e1_r = b2;
            double *h2_r = h2 + i0 * (w2_n1);
            uint8_t *t_15_r = t_15 + i0 * (w2_n1);
            uint8_t *t_16_r = t_16 + i0 * (w2_n1);
            #pragma omp simd
            for (int64_t i = 0; i < w2_n1; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i];
                const double t_4_v = e0_v + e1_v;
                const double h2_v = max_d(t_4_v, 0.0);  /* golden_functions.py:56 */
                h2_r[i] = h2_v;
                const uint8_t t_15_v = t_4_v < 0.0;  /* golden_functions.py:56 */
                t_15_r[i] = t_15_v;
                const uint8_t t_16_v = t_4_v == 0.0;
                t_16_r[i] = t_16_v;
            }
        }
    } else {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_3_c + i0 * w2_n1;
            const double *e1_r = b2;
            double *h2_r = h2 + i0 * (w2_n1);
            uint8_t *t_15_r = t_15 + i0 * (w2_n1);
            uint8_t *t_16_r = t_16 + i0 * (w2_n1);
            #pragma omp simd
            for (int64_t i = 0; i < w2_n1; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i * b2_step0];
                const double t_4_v = e0_v + e1_v;
                const double h2_v = max_d(t_4_v, 0.0);  /* golden_functions.py:56 */
                h2_r[i] = h2_v;
                const uint8_t t_15_v = t_4_v < 0.0;  /* golden_functions.py:56 */
                t_15_r[i] = t_15_v;
                const uint8_t t_16_v = t_4_v == 0.0;
                t_16_r[i] = t_16_v;
            }
        }
    }
}

typedef struct {
    int64_t w3_n1, b3_step0, y_step0, y_step1;
    double *t_5_c, *b3, *y, *t_12, *t_9_s, *d_b3_s;
    double t_11;
} JOIN(run, loop_3_of);
static __attribute__((noinline)) void JOIN(run, loop_3)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_3_of) *const of = all;
    const int64_t w3_n1 = of->w3_n1, b3_step0 = of->b3_step0, y_step0 = of->y_step0, y_step1 = of->y_step1;
    double *const t_5_c = of->t_5_c, *const b3 = of->b3, *const y = of->y, *const t_12 = of->t_12;
    const double t_11 = of->t_11;
    double *const d_b3 = of->d_b3_s + k * (w3_n1);
    for (int64_t i = 0; i < w3_n1; i++) d_b3[i] = 0;
    sums_d t_9_s; t_9_s.n = 0;
    if (b3_step0 == 1 && y_step1 == 1) {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_5_c + i0 * w3_n1;
            const double *e1_r = b3;
            const double *e2_r = y + i0 * y_step0;
            double *t_12_r = t_12 + i0 * (w3_n1);
            double *d_b3_r = d_b3;
            for (int64_t b = 0; b < w3_n1; b += 512) {
                const int64_t end = b + 512 < w3_n1 ? b + 512 : w3_n1;
                double t_9_b = 0;
            #pragma omp simd reduction(+:t_9_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i];
                    const double e1_v = e1_r[i];
                    const double e2_v = e2_r[i];
                    const double out_v = e0_v + e1_v;
                    const double t_6_v = out_v - e2_v;  /* golden_functions.py:64 */
                    const double t_7_v = t_6_v * t_6_v;
                    t_9_b += t_7_v;
                    const double t_12_v = t_11 * t_6_v;
                    t_12_r[i] = t_12_v;
                    d_b3_r[i] += t_12_v;  /* golden_functions.py:63 */
                }
                add_d(&t_9_s, t_9_b);
            }
        }
    } else {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_5_c + i0 * w3_n1;
            const double *e1_r = b3;
            const double *e2_r = y + i0 * y_step0;
            double *t_12_r = t_12 + i0 * (w3_n1);
            double *d_b3_r = d_b3;
            for (int64_t b = 0; b < w3_n1; b += 512) {
                const int64_t end = b + 512 < w3_n1 ? b + 512 : w3_n1;
                double t_9_b = 0;
            #pragma omp simd reduction(+:t_9_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i];
                    const double e1_v = e1_r[i * b3_step0];
                    const double e2_v = e2_r[i * y_step1];
                    const double out_v = e0_v + e1_v;
                    const double t_6_v = out_v - e2_v;  /* golden_functions.py:64 */
                    const double t_7_v = t_6_v * t_6_v;
                    t_9_b += t_7_v;
                    const double t_12_v = t_11 * t_6_v;
                    t_12_r[i] = t_12_v;
                    d_b3_r[i] += t_12_v;  /* golden_functions.py:63 */
                }
                add_d(&t_9_s, t_9_b);
            }
        }
    }
    of->t_9_s[k] = total_d(&t_9_s);
}

typedef struct {
    int64_t w2_n1;
    double *d_h2_c, *t_19, *d_b2_s;
    uint8_t *t_16, *t_15;
} JOIN(run, loop_4_of);
static __attribute__((noinline)) void JOIN(run, loop_4)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_4_of) *const of = all;
    const int64_t w2_n1 = of->w2_n1;
    double *const d_h2_c = of->d_h2_c, *const t_19 = of->t_19;
    uint8_t *const t_16 = of->t_16, *const t_15 = of->t_15;
    double *const d_b2 = of->d_b2_s + k * (w2_n1);
    for (int64_t i = 0; i < w2_n1; i++) d_b2[i] = 0;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = d_h2_c + i0 * w2_n1;
            const uint8_t *e1_r = t_16 + i0 * w2_n1;
            const uint8_t *e2_r = t_15 + i0 * w2_n1;
            double *t_19_r = t_19 + i0 * (w2_n1);
            double *d_b2_r = d_b2;
            #pragma omp simd
            for (int64_t i = 0; i < w2_n1; i++) {
                const double e0_v = e0_r[i];
                const uint8_t e1_v = e1_r[i];
                const uint8_t e2_v = e2_r[i];
                const double t_17_v = e0_v / 2.0;
                const double t_18_v = e1_v ? t_17_v : e0_v;
                const double t_19_v = e2_v ? 0.0 : t_18_v;
                t_19_r[i] = t_19_v;
                d_b2_r[i] += t_19_v;  /* golden_functions.py:62 */
            }
        }
    }
}

typedef struct {
    int64_t w1_n1;
    double *d_h1_c, *t_26, *d_b1_s;
    uint8_t *t_23, *t_22;
} JOIN(run, loop_5_of);
static __attribute__((noinline)) void JOIN(run, loop_5)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_5_of) *const of = all;
    const int64_t w1_n1 = of->w1_n1;
    double *const d_h1_c = of->d_h1_c, *const t_26 = of->t_26;
    uint8_t *const t_23 = of->t_23, *const t_22 = of->t_22;
    double *const d_b1 = of->d_b1_s + k * (w1_n1);
    for (int64_t i = 0; i < w1_n1; i++) d_b1[i] = 0;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = d_h1_c + i0 * w1_n1;
            const uint8_t *e1_r = t_23 + i0 * w1_n1;
            const uint8_t *e2_r = t_22 + i0 * w1_n1;
            double *t_26_r = t_26 + i0 * (w1_n1);
            double *d_b1_r = d_b1;
            #pragma omp simd
            for (int64_t i = 0; i < w1_n1; i++) {
                const double e0_v = e0_r[i];
                const uint8_t e1_v = e1_r[i];
                const uint8_t e2_v = e2_r[i];
                const double t_24_v = e0_v / 2.0;
                const double t_25_v = e1_v ? t_24_v : e0_v;
                const double t_26_v = e2_v ? 0.0 : t_25_v;
                t_26_r[i] = t_26_v;
                d_b1_r[i] += t_26_v;  /* golden_functions.py:61 */
            }
        }
    }
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    hold(f, 0, again(PyDict_GetItem(a[0], st->constants[0])));
    PyObject *const params_w1_o = f->o[0];
    if (!params_w1_o) goto fail;
    if (!is_array(st, params_w1_o, D, 2)) goto punt;
    double *const w1 = (double *)ARRAY(params_w1_o)->data;
    const int64_t w1_n0 = ARRAY(params_w1_o)->dims[0];
    const int64_t w1_step0 = ARRAY(params_w1_o)->strides[0] / (int64_t)sizeof(double);
    const int64_t w1_n1 = ARRAY(params_w1_o)->dims[1];
    const int64_t w1_step1 = ARRAY(params_w1_o)->strides[1] / (int64_t)sizeof(double);
    hold(f, 1, again(PyDict_GetItem(a[0], st->constants[1])));
    PyObject *const params_b1_o = f->o[1];
    if (!params_b1_o) goto fail;
    if (!is_array(st, params_b1_o, D, 1)) goto punt;
    double *const b1 = (double *)ARRAY(params_b1_o)->data;
    const int64_t b1_n0 = ARRAY(params_b1_o)->dims[0];
    const int64_t b1_step0 = ARRAY(params_b1_o)->strides[0] / (int64_t)sizeof(double);
    hold(f, 2, again(PyDict_GetItem(a[0], st->constants[2])));
    PyObject *const params_w2_o = f->o[2];
    if (!params_w2_o) goto fail;
    if (!is_array(st, params_w2_o, D, 2)) goto punt;
    double *const w2 = (double *)ARRAY(params_w2_o)->data;
    const int64_t w2_n0 = ARRAY(params_w2_o)->dims[0];
    const int64_t w2_step0 = ARRAY(params_w2_o)->strides[0] / (int64_t)sizeof(double);
    const int64_t w2_n1 = ARRAY(params_w2_o)->dims[1];
    const int64_t w2_step1 = ARRAY(params_w2_o)->strides[1] / (int64_t)sizeof(double);
    hold(f, 3, again(PyDict_GetItem(a[0], st->constants[3])));
    PyObject *const params_b2_o = f->o[3];
    if (!params_b2_o) goto fail;
    if (!is_array(st, params_b2_o, D, 1)) goto punt;
    double *const b2 = (double *)ARRAY(params_b2_o)->data;
    const int64_t b2_n0 = ARRAY(params_b2_o)->dims[0];
    const int64_t b2_step0 = ARRAY(params_b2_o)->strides[0] / (int64_t)sizeof(double);
    hold(f, 4, again(PyDict_GetItem(a[0], st->constants[4])));
    PyObject *const params_w3_o = f->o[4];
    if (!params_w3_o) goto fail;
    if (!is_array(st, params_w3_o, D, 2)) goto punt;
    double *const w3 = (double *)ARRAY(params_w3_o)->data;
    const int64_t w3_n0 = ARRAY(params_w3_o)->dims[0];
    const int64_t w3_step0 = ARRAY(params_w3_o)->strides[0] / (int64_t)sizeof(double);
    const int64_t w3_n1 = ARRAY(params_w3_o)->dims[1];
    const int64_t w3_step1 = ARRAY(params_w3_o)->strides[1] / (int64_t)sizeof(double);
    hold(f, 5, again(PyDict_GetItem(a[0], st->constants[5])));
    PyObject *const params_b3_o = f->o[5];
    if (!params_b3_o) goto fail;
    if (!is_array(st, params_b3_o, D, 1)) goto punt;
    double *const b3 = (double *)ARRAY(params_b3_o)->data;
    const int64_t b3_n0 = ARRAY(params_b3_o)->dims[0];
    const int64_t b3_step0 = ARRAY(params_b3_o)->strides[0] / (int64_t)sizeof(double);
    if (!is_array(st, a[1], D, 2)) goto punt;
    double *const x = (double *)ARRAY(a[1])->data;
    const int64_t x_n0 = ARRAY(a[1])->dims[0];
    const int64_t x_step0 = ARRAY(a[1])->strides[0] / (int64_t)sizeof(double);
    const int64_t x_n1 = ARRAY(a[1])->dims[1];
    const int64_t x_step1 = ARRAY(a[1])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[2], D, 2)) goto punt;
    double *const y = (double *)ARRAY(a[2])->data;
    const int64_t y_n0 = ARRAY(a[2])->dims[0];
    const int64_t y_step0 = ARRAY(a[2])->strides[0] / (int64_t)sizeof(double);
    const int64_t y_n1 = ARRAY(a[2])->dims[1];
    const int64_t y_step1 = ARRAY(a[2])->strides[1] / (int64_t)sizeof(double);
    if (x_n1 != w1_n0) goto punt;
    if (w1_n1 != b1_n0) goto punt;
    if (w1_n1 != w2_n0) goto punt;
    if (w2_n1 != b2_n0) goto punt;
    if (w2_n1 != w3_n0) goto punt;
    if (w3_n1 != b3_n0) goto punt;
    if (x_n0 != y_n0) goto punt;
    if (w3_n1 != y_n1) goto punt;
    const int64_t t_8 = x_n0 * w3_n1;
    const double t_11 = 2.0 / (double)t_8;
    double *const t_13 = (double *)w3;
    double *const t_20 = (double *)w2;
    double *const t_27 = (double *)x;
    double *const t_c = room(f, 0, sizeof(double) * (x_n0 * w1_n1));
    if (!t_c) goto punt;
    WORK(x_n0 * x_n1 * w1_n1 / 4);
    if ((x_n0) * (x_n1) * (w1_n1) <= 2048) product_d(t_c, x_n0, x_n1, w1_n1, x, x_step0, x_step1, w1, w1_step0, w1_step1);  /* golden_functions.py:61 */
    else if (!blas_d(st, t_c, x_n0, x_n1, w1_n1, x, x_step0, x_step1, w1, w1_step0, w1_step1)) {
        PyObject *argv[] = {a[1], params_w1_o};
        back(f);
        hold(f, 6, PyObject_Vectorcall(st->calls[0], argv, 2, 0));
        if (!f->o[6]) goto fail;
        if (!is_array(st, f->o[6], D, 2)) goto punt;
        if (ARRAY(f->o[6])->dims[0] != x_n0) goto punt;
        if (ARRAY(f->o[6])->dims[1] != w1_n1) goto punt;
        if ((x_n0 <= 1 || ARRAY(f->o[6])->strides[0] == (int64_t)sizeof(double) * (w1_n1)) && (w1_n1 <= 1 || ARRAY(f->o[6])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_c, ARRAY(f->o[6])->data, sizeof(double) * (x_n0 * w1_n1));
        else for (int64_t i0 = 0; i0 < x_n0; i0++) for (int64_t i1 = 0; i1 < w1_n1; i1++) memcpy(t_c + i0 * (w1_n1) + i1 * (1), (const char *)ARRAY(f->o[6])->data + i0 * ARRAY(f->o[6])->strides[0] + i1 * ARRAY(f->o[6])->strides[1], sizeof(double));
    }
    double *const h1 = room(f, 2, sizeof(double) * (x_n0 * w1_n1));
    if (!h1) goto punt;
    uint8_t *const t_22 = room(f, 18, sizeof(uint8_t) * (x_n0 * w1_n1));
    if (!t_22) goto punt;
    uint8_t *const t_23 = room(f, 19, sizeof(uint8_t) * (x_n0 * w1_n1));
    if (!t_23) goto punt;
    const int64_t loop_n = x_n0, loop_chunk = rows_of(7 * w1_n1 + 256 * 1, 262144, 1);
    WORK(x_n0 * w1_n1 * 4);
    JOIN(run, loop_of) loop = {w1_n1, b1_step0, t_c, b1, h1, t_22, t_23};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    double *const t_21 = (double *)h1;
    double *const t_3_c = room(f, 3, sizeof(double) * (x_n0 * w2_n1));
    if (!t_3_c) goto punt;
    WORK(x_n0 * w1_n1 * w2_n1 / 4);
    if ((x_n0) * (w1_n1) * (w2_n1) <= 2048) product_d(t_3_c, x_n0, w1_n1, w2_n1, h1, w1_n1, 1, w2, w2_step0, w2_step1);  /* golden_functions.py:62 */
    else if (!blas_d(st, t_3_c, x_n0, w1_n1, w2_n1, h1, w1_n1, 1, w2, w2_step0, w2_step1)) {
        back(f);
        hold(f, 7, boxed(st, D, (void *)h1, 2, (int64_t[]){x_n0, w1_n1}, (int64_t[]){w1_n1, 1}));
        if (!f->o[7]) goto fail;
        PyObject *argv[] = {f->o[7], params_w2_o};
        hold(f, 8, PyObject_Vectorcall(st->calls[1], argv, 2, 0));
        if (!f->o[8]) goto fail;
        if (!is_array(st, f->o[8], D, 2)) goto punt;
        if (ARRAY(f->o[8])->dims[0] != x_n0) goto punt;
        if (ARRAY(f->o[8])->dims[1] != w2_n1) goto punt;
        if ((x_n0 <= 1 || ARRAY(f->o[8])->strides[0] == (int64_t)sizeof(double) * (w2_n1)) && (w2_n1 <= 1 || ARRAY(f->o[8])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_3_c, ARRAY(f->o[8])->data, sizeof(double) * (x_n0 * w2_n1));
        else for (int64_t i0 = 0; i0 < x_n0; i0++) for (int64_t i1 = 0; i1 < w2_n1; i1++) memcpy(t_3_c + i0 * (w2_n1) + i1 * (1), (const char *)ARRAY(f->o[8])->data + i0 * ARRAY(f->o[8])->strides[0] + i1 * ARRAY(f->o[8])->strides[1], sizeof(double));
    }
    double *const h2 = room(f, 5, sizeof(double) * (x_n0 * w2_n1));
    if (!h2) goto punt;
    uint8_t *const t_15 = room(f, 12, sizeof(uint8_t) * (x_n0 * w2_n1));
    if (!t_15) goto punt;
    uint8_t *const t_16 = room(f, 13, sizeof(uint8_t) * (x_n0 * w2_n1));
    if (!t_16) goto punt;
    const int64_t loop_2_n = x_n0, loop_2_chunk = rows_of(7 * w2_n1 + 256 * 1, 262144, 1);
    WORK(x_n0 * w2_n1 * 4);
    JOIN(run, loop_2_of) loop_2 = {w2_n1, b2_step0, t_3_c, b2, h2, t_15, t_16};
    share(st, JOIN(run, loop_2), &loop_2, loop_2_n, loop_2_chunk);
    double *const t_14 = (double *)h2;
    double *const t_5_c = room(f, 6, sizeof(double) * (x_n0 * w3_n1));
    if (!t_5_c) goto punt;
    WORK(x_n0 * w2_n1 * w3_n1 / 4);
    if ((x_n0) * (w2_n1) * (w3_n1) <= 2048) product_d(t_5_c, x_n0, w2_n1, w3_n1, h2, w2_n1, 1, w3, w3_step0, w3_step1);  /* golden_functions.py:63 */
    else if (!blas_d(st, t_5_c, x_n0, w2_n1, w3_n1, h2, w2_n1, 1, w3, w3_step0, w3_step1)) {
        back(f);
        hold(f, 9, boxed(st, D, (void *)h2, 2, (int64_t[]){x_n0, w2_n1}, (int64_t[]){w2_n1, 1}));
        if (!f->o[9]) goto fail;
        PyObject *argv[] = {f->o[9], params_w3_o};
        hold(f, 10, PyObject_Vectorcall(st->calls[2], argv, 2, 0));
        if (!f->o[10]) goto fail;
        if (!is_array(st, f->o[10], D, 2)) goto punt;
        if (ARRAY(f->o[10])->dims[0] != x_n0) goto punt;
        if (ARRAY(f->o[10])->dims[1] != w3_n1) goto punt;
        if ((x_n0 <= 1 || ARRAY(f->o[10])->strides[0] == (int64_t)sizeof(double) * (w3_n1)) && (w3_n1 <= 1 || ARRAY(f->o[10])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(t_5_c, ARRAY(f->o[10])->data, sizeof(double) * (x_n0 * w3_n1));
        else for (int64_t i0 = 0; i0 < x_n0; i0++) for (int64_t i1 = 0; i1 < w3_n1; i1++) memcpy(t_5_c + i0 * (w3_n1) + i1 * (1), (const char *)ARRAY(f->o[10])->data + i0 * ARRAY(f->o[10])->strides[0] + i1 * ARRAY(f->o[10])->strides[1], sizeof(double));
    }
    double *const t_12 = room(f, 10, sizeof(double) * (x_n0 * w3_n1));
    if (!t_12) goto punt;
    back(f);
    double *const d_b3 = new_array(st, f, 11, D, 1, (int64_t[]){w3_n1}, 0);
    if (!d_b3) goto punt;
    const int64_t loop_3_n = x_n0, loop_3_chunk = rows_of(6 * w3_n1 + 256 * 1, 262144, 64);
    const int64_t loop_3_chunks = (loop_3_n + loop_3_chunk - 1) / loop_3_chunk;
    if (loop_3_chunks != 1) for (int64_t i = 0; i < w3_n1; i++) d_b3[i] = 0;
    double *const t_9_s = room(f, 23, sizeof(double) * (loop_3_chunks));
    if (!t_9_s) goto punt;
    double *const d_b3_s = loop_3_chunks == 1 ? d_b3 : room(f, 24, sizeof(double) * (loop_3_chunks * w3_n1));
    if (!d_b3_s) goto punt;
    WORK(x_n0 * w3_n1 * 6);
    JOIN(run, loop_3_of) loop_3 = {w3_n1, b3_step0, y_step0, y_step1, t_5_c, b3, y, t_12, t_9_s, d_b3_s, t_11};
    share(st, JOIN(run, loop_3), &loop_3, loop_3_n, loop_3_chunk);
    const double t_9 = summed_d(t_9_s, loop_3_chunks, loop_3_n % loop_3_chunk != 0);
    if (loop_3_chunks != 1) for (int64_t k = 0; k < loop_3_chunks; k++)
        for (int64_t i = 0; i < w3_n1; i++) d_b3[i] += d_b3_s[k * (w3_n1) + i];
    const double t_10 = t_9 / (double)t_8;
    double *const d_h2_c = room(f, 11, sizeof(double) * (x_n0 * w2_n1));
    if (!d_h2_c) goto punt;
    WORK(x_n0 * w3_n1 * w2_n1 / 4);
    if ((x_n0) * (w3_n1) * (w2_n1) <= 2048) product_d(d_h2_c, x_n0, w3_n1, w2_n1, t_12, w3_n1, 1, t_13, w3_step1, w3_step0);
    else if (!blas_d(st, d_h2_c, x_n0, w3_n1, w2_n1, t_12, w3_n1, 1, t_13, w3_step1, w3_step0)) {
        back(f);
        hold(f, 12, boxed(st, D, (void *)t_12, 2, (int64_t[]){x_n0, w3_n1}, (int64_t[]){w3_n1, 1}));
        if (!f->o[12]) goto fail;
        hold(f, 13, boxed(st, D, (void *)t_13, 2, (int64_t[]){w3_n1, w2_n1}, (int64_t[]){w3_step1, w3_step0}));
        if (!f->o[13]) goto fail;
        PyObject *argv[] = {f->o[12], f->o[13]};
        hold(f, 14, PyObject_Vectorcall(st->calls[3], argv, 2, 0));
        if (!f->o[14]) goto fail;
        if (!is_array(st, f->o[14], D, 2)) goto punt;
        if (ARRAY(f->o[14])->dims[0] != x_n0) goto punt;
        if (ARRAY(f->o[14])->dims[1] != w2_n1) goto punt;
        if ((x_n0 <= 1 || ARRAY(f->o[14])->strides[0] == (int64_t)sizeof(double) * (w2_n1)) && (w2_n1 <= 1 || ARRAY(f->o[14])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_h2_c, ARRAY(f->o[14])->data, sizeof(double) * (x_n0 * w2_n1));
        else for (int64_t i0 = 0; i0 < x_n0; i0++) for (int64_t i1 = 0; i1 < w2_n1; i1++) memcpy(d_h2_c + i0 * (w2_n1) + i1 * (1), (const char *)ARRAY(f->o[14])->data + i0 * ARRAY(f->o[14])->strides[0] + i1 * ARRAY(f->o[14])->strides[1], sizeof(double));
    }
    back(f);
    double *const d_w3_c = new_array(st, f, 15, D, 2, (int64_t[]){w2_n1, w3_n1}, 0);
    if (!d_w3_c) goto punt;
    WORK(w2_n1 * x_n0 * w3_n1 / 4);
    if ((w2_n1) * (x_n0) * (w3_n1) <= 2048) product_d(d_w3_c, w2_n1, x_n0, w3_n1, t_14, 1, w2_n1, t_12, w3_n1, 1);
    else if (!blas_d(st, d_w3_c, w2_n1, x_n0, w3_n1, t_14, 1, w2_n1, t_12, w3_n1, 1)) {
        back(f);
        hold(f, 16, boxed(st, D, (void *)t_14, 2, (int64_t[]){w2_n1, x_n0}, (int64_t[]){1, w2_n1}));
        if (!f->o[16]) goto fail;
        hold(f, 17, boxed(st, D, (void *)t_12, 2, (int64_t[]){x_n0, w3_n1}, (int64_t[]){w3_n1, 1}));
        if (!f->o[17]) goto fail;
        PyObject *argv[] = {f->o[16], f->o[17]};
        hold(f, 18, PyObject_Vectorcall(st->calls[4], argv, 2, 0));
        if (!f->o[18]) goto fail;
        if (!is_array(st, f->o[18], D, 2)) goto punt;
        if (ARRAY(f->o[18])->dims[0] != w2_n1) goto punt;
        if (ARRAY(f->o[18])->dims[1] != w3_n1) goto punt;
        if ((w2_n1 <= 1 || ARRAY(f->o[18])->strides[0] == (int64_t)sizeof(double) * (w3_n1)) && (w3_n1 <= 1 || ARRAY(f->o[18])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_w3_c, ARRAY(f->o[18])->data, sizeof(double) * (w2_n1 * w3_n1));
        else for (int64_t i0 = 0; i0 < w2_n1; i0++) for (int64_t i1 = 0; i1 < w3_n1; i1++) memcpy(d_w3_c + i0 * (w3_n1) + i1 * (1), (const char *)ARRAY(f->o[18])->data + i0 * ARRAY(f->o[18])->strides[0] + i1 * ARRAY(f->o[18])->strides[1], sizeof(double));
    }
    double *const t_19 = room(f, 16, sizeof(double) * (x_n0 * w2_n1));
    if (!t_19) goto punt;
    back(f);
    double *const d_b2 = new_array(st, f, 19, D, 1, (int64_t[]){w2_n1}, 0);
    if (!d_b2) goto punt;
    const int64_t loop_4_n = x_n0, loop_4_chunk = rows_of(4 * w2_n1 + 256 * 1, 262144, 64);
    const int64_t loop_4_chunks = (loop_4_n + loop_4_chunk - 1) / loop_4_chunk;
    if (loop_4_chunks != 1) for (int64_t i = 0; i < w2_n1; i++) d_b2[i] = 0;
    double *const d_b2_s = loop_4_chunks == 1 ? d_b2 : room(f, 25, sizeof(double) * (loop_4_chunks * w2_n1));
    if (!d_b2_s) goto punt;
    WORK(x_n0 * w2_n1 * 4);
    JOIN(run, loop_4_of) loop_4 = {w2_n1, d_h2_c, t_19, d_b2_s, t_16, t_15};
    share(st, JOIN(run, loop_4), &loop_4, loop_4_n, loop_4_chunk);
    if (loop_4_chunks != 1) for (int64_t k = 0; k < loop_4_chunks; k++)
        for (int64_t i = 0; i < w2_n1; i++) d_b2[i] += d_b2_s[k * (w2_n1) + i];
    double *const d_h1_c = room(f, 17, sizeof(double) * (x_n0 * w1_n1));
    if (!d_h1_c) goto punt;
    WORK(x_n0 * w2_n1 * w1_n1 / 4);
    if ((x_n0) * (w2_n1) * (w1_n1) <= 2048) product_d(d_h1_c, x_n0, w2_n1, w1_n1, t_19, w2_n1, 1, t_20, w2_step1, w2_step0);
    else if (!blas_d(st, d_h1_c, x_n0, w2_n1, w1_n1, t_19, w2_n1, 1, t_20, w2_step1, w2_step0)) {
        back(f);
        hold(f, 20, boxed(st, D, (void *)t_19, 2, (int64_t[]){x_n0, w2_n1}, (int64_t[]){w2_n1, 1}));
        if (!f->o[20]) goto fail;
        hold(f, 21, boxed(st, D, (void *)t_20, 2, (int64_t[]){w2_n1, w1_n1}, (int64_t[]){w2_step1, w2_step0}));
        if (!f->o[21]) goto fail;
        PyObject *argv[] = {f->o[20], f->o[21]};
        hold(f, 22, PyObject_Vectorcall(st->calls[5], argv, 2, 0));
        if (!f->o[22]) goto fail;
        if (!is_array(st, f->o[22], D, 2)) goto punt;
        if (ARRAY(f->o[22])->dims[0] != x_n0) goto punt;
        if (ARRAY(f->o[22])->dims[1] != w1_n1) goto punt;
        if ((x_n0 <= 1 || ARRAY(f->o[22])->strides[0] == (int64_t)sizeof(double) * (w1_n1)) && (w1_n1 <= 1 || ARRAY(f->o[22])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_h1_c, ARRAY(f->o[22])->data, sizeof(double) * (x_n0 * w1_n1));
        else for (int64_t i0 = 0; i0 < x_n0; i0++) for (int64_t i1 = 0; i1 < w1_n1; i1++) memcpy(d_h1_c + i0 * (w1_n1) + i1 * (1), (const char *)ARRAY(f->o[22])->data + i0 * ARRAY(f->o[22])->strides[0] + i1 * ARRAY(f->o[22])->strides[1], sizeof(double));
    }
    back(f);
    double *const d_w2_c = new_array(st, f, 23, D, 2, (int64_t[]){w1_n1, w2_n1}, 0);
    if (!d_w2_c) goto punt;
    WORK(w1_n1 * x_n0 * w2_n1 / 4);
    if ((w1_n1) * (x_n0) * (w2_n1) <= 2048) product_d(d_w2_c, w1_n1, x_n0, w2_n1, t_21, 1, w1_n1, t_19, w2_n1, 1);
    else if (!blas_d(st, d_w2_c, w1_n1, x_n0, w2_n1, t_21, 1, w1_n1, t_19, w2_n1, 1)) {
        back(f);
        hold(f, 24, boxed(st, D, (void *)t_21, 2, (int64_t[]){w1_n1, x_n0}, (int64_t[]){1, w1_n1}));
        if (!f->o[24]) goto fail;
        hold(f, 25, boxed(st, D, (void *)t_19, 2, (int64_t[]){x_n0, w2_n1}, (int64_t[]){w2_n1, 1}));
        if (!f->o[25]) goto fail;
        PyObject *argv[] = {f->o[24], f->o[25]};
        hold(f, 26, PyObject_Vectorcall(st->calls[6], argv, 2, 0));
        if (!f->o[26]) goto fail;
        if (!is_array(st, f->o[26], D, 2)) goto punt;
        if (ARRAY(f->o[26])->dims[0] != w1_n1) goto punt;
        if (ARRAY(f->o[26])->dims[1] != w2_n1) goto punt;
        if ((w1_n1 <= 1 || ARRAY(f->o[26])->strides[0] == (int64_t)sizeof(double) * (w2_n1)) && (w2_n1 <= 1 || ARRAY(f->o[26])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_w2_c, ARRAY(f->o[26])->data, sizeof(double) * (w1_n1 * w2_n1));
        else for (int64_t i0 = 0; i0 < w1_n1; i0++) for (int64_t i1 = 0; i1 < w2_n1; i1++) memcpy(d_w2_c + i0 * (w2_n1) + i1 * (1), (const char *)ARRAY(f->o[26])->data + i0 * ARRAY(f->o[26])->strides[0] + i1 * ARRAY(f->o[26])->strides[1], sizeof(double));
    }
    double *const t_26 = room(f, 22, sizeof(double) * (x_n0 * w1_n1));
    if (!t_26) goto punt;
    back(f);
    double *const d_b1 = new_array(st, f, 27, D, 1, (int64_t[]){w1_n1}, 0);
    if (!d_b1) goto punt;
    const int64_t loop_5_n = x_n0, loop_5_chunk = rows_of(4 * w1_n1 + 256 * 1, 262144, 64);
    const int64_t loop_5_chunks = (loop_5_n + loop_5_chunk - 1) / loop_5_chunk;
    if (loop_5_chunks != 1) for (int64_t i = 0; i < w1_n1; i++) d_b1[i] = 0;
    double *const d_b1_s = loop_5_chunks == 1 ? d_b1 : room(f, 26, sizeof(double) * (loop_5_chunks * w1_n1));
    if (!d_b1_s) goto punt;
    WORK(x_n0 * w1_n1 * 4);
    JOIN(run, loop_5_of) loop_5 = {w1_n1, d_h1_c, t_26, d_b1_s, t_23, t_22};
    share(st, JOIN(run, loop_5), &loop_5, loop_5_n, loop_5_chunk);
    if (loop_5_chunks != 1) for (int64_t k = 0; k < loop_5_chunks; k++)
        for (int64_t i = 0; i < w1_n1; i++) d_b1[i] += d_b1_s[k * (w1_n1) + i];
    back(f);
    double *const d_w1_c = new_array(st, f, 28, D, 2, (int64_t[]){x_n1, w1_n1}, 0);
    if (!d_w1_c) goto punt;
    WORK(x_n1 * x_n0 * w1_n1 / 4);
    if ((x_n1) * (x_n0) * (w1_n1) <= 2048) product_d(d_w1_c, x_n1, x_n0, w1_n1, t_27, x_step1, x_step0, t_26, w1_n1, 1);
    else if (!blas_d(st, d_w1_c, x_n1, x_n0, w1_n1, t_27, x_step1, x_step0, t_26, w1_n1, 1)) {
        back(f);
        hold(f, 29, boxed(st, D, (void *)t_27, 2, (int64_t[]){x_n1, x_n0}, (int64_t[]){x_step1, x_step0}));
        if (!f->o[29]) goto fail;
        hold(f, 30, boxed(st, D, (void *)t_26, 2, (int64_t[]){x_n0, w1_n1}, (int64_t[]){w1_n1, 1}));
        if (!f->o[30]) goto fail;
        PyObject *argv[] = {f->o[29], f->o[30]};
        hold(f, 31, PyObject_Vectorcall(st->calls[7], argv, 2, 0));
        if (!f->o[31]) goto fail;
        if (!is_array(st, f->o[31], D, 2)) goto punt;
        if (ARRAY(f->o[31])->dims[0] != x_n1) goto punt;
        if (ARRAY(f->o[31])->dims[1] != w1_n1) goto punt;
        if ((x_n1 <= 1 || ARRAY(f->o[31])->strides[0] == (int64_t)sizeof(double) * (w1_n1)) && (w1_n1 <= 1 || ARRAY(f->o[31])->strides[1] == (int64_t)sizeof(double) * (1))) memcpy(d_w1_c, ARRAY(f->o[31])->data, sizeof(double) * (x_n1 * w1_n1));
        else for (int64_t i0 = 0; i0 < x_n1; i0++) for (int64_t i1 = 0; i1 < w1_n1; i1++) memcpy(d_w1_c + i0 * (w1_n1) + i1 * (1), (const char *)ARRAY(f->o[31])->data + i0 * ARRAY(f->o[31])->strides[0] + i1 * ARRAY(f->o[31])->strides[1], sizeof(double));
    }
    back(f);
    hold(f, 32, PyTuple_New(2));
    if (!f->o[32]) goto fail;
    hold(f, 33, scalar(st, D, t_10, 0));
    if (!f->o[33]) goto fail;
    PyTuple_SetItem(f->o[32], 0, again(f->o[33]));
    hold(f, 34, PyDict_New());
    if (!f->o[34]) goto fail;
    hold(f, 35, again(f->o[28]));
    if (!f->o[35]) goto fail;
    PyObject *const part = again(f->o[35]);
    if (PyDict_SetItem(f->o[34], st->constants[0], part) < 0) { Py_DecRef(part); goto fail; }
    Py_DecRef(part);
    hold(f, 36, again(f->o[27]));
    if (!f->o[36]) goto fail;
    PyObject *const part_2 = again(f->o[36]);
    if (PyDict_SetItem(f->o[34], st->constants[1], part_2) < 0) { Py_DecRef(part_2); goto fail; }
    Py_DecRef(part_2);
    hold(f, 37, again(f->o[23]));
    if (!f->o[37]) goto fail;
    PyObject *const part_3 = again(f->o[37]);
    if (PyDict_SetItem(f->o[34], st->constants[2], part_3) < 0) { Py_DecRef(part_3); goto fail; }
    Py_DecRef(part_3);
    hold(f, 38, again(f->o[19]));
    if (!f->o[38]) goto fail;
    PyObject *const part_4 = again(f->o[38]);
    if (PyDict_SetItem(f->o[34], st->constants[3], part_4) < 0) { Py_DecRef(part_4); goto fail; }
    Py_DecRef(part_4);
    hold(f, 39, again(f->o[15]));
    if (!f->o[39]) goto fail;
    PyObject *const part_5 = again(f->o[39]);
    if (PyDict_SetItem(f->o[34], st->constants[4], part_5) < 0) { Py_DecRef(part_5); goto fail; }
    Py_DecRef(part_5);
    hold(f, 40, again(f->o[11]));
    if (!f->o[40]) goto fail;
    PyObject *const part_6 = again(f->o[40]);
    if (PyDict_SetItem(f->o[34], st->constants[5], part_6) < 0) { Py_DecRef(part_6); goto fail; }
    Py_DecRef(part_6);
    PyTuple_SetItem(f->o[32], 1, again(f->o[34]));
    PyObject *const whole = again(f->o[32]);
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
