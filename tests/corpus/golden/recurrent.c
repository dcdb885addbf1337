#define ARGUMENTS 2
#define SLOTS 32
#define OBJECTS 15
#define STACKS 1

typedef struct {
    double *d_W;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    double *const d_W = of->d_W;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double d_W_v = (-0.0);  /* golden_functions.py:260 */
            d_W[i] = d_W_v;
        }
    }
}

typedef struct {
    double *d_U;
} JOIN(run, loop_2_of);
static __attribute__((noinline)) void JOIN(run, loop_2)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_2_of) *const of = all;
    double *const d_U = of->d_U;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double d_U_v = (-0.0);
            d_U[i] = d_U_v;
        }
    }
}

typedef struct {
    double *d_b_2;
} JOIN(run, loop_3_of);
static __attribute__((noinline)) void JOIN(run, loop_3)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_3_of) *const of = all;
    double *const d_b_2 = of->d_b_2;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double d_b_2_v = (-0.0);
            d_b_2[i] = d_b_2_v;
        }
    }
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    hold(f, 0, again(PyDict_GetItem(a[0], st->constants[0])));
    PyObject *const params_W_o = f->o[0];
    if (!params_W_o) goto fail;
    if (!is_array(st, params_W_o, D, 2)) goto punt;
    double *const W = (double *)ARRAY(params_W_o)->data;
    const int64_t W_n0 = ARRAY(params_W_o)->dims[0];
    const int64_t W_step0 = ARRAY(params_W_o)->strides[0] / (int64_t)sizeof(double);
    const int64_t W_n1 = ARRAY(params_W_o)->dims[1];
    const int64_t W_step1 = ARRAY(params_W_o)->strides[1] / (int64_t)sizeof(double);
    hold(f, 1, again(PyDict_GetItem(a[0], st->constants[1])));
    PyObject *const params_U_o = f->o[1];
    if (!params_U_o) goto fail;
    if (!is_array(st, params_U_o, D, 2)) goto punt;
    double *const U = (double *)ARRAY(params_U_o)->data;
    const int64_t U_n0 = ARRAY(params_U_o)->dims[0];
    const int64_t U_step0 = ARRAY(params_U_o)->strides[0] / (int64_t)sizeof(double);
    const int64_t U_n1 = ARRAY(params_U_o)->dims[1];
    const int64_t U_step1 = ARRAY(params_U_o)->strides[1] / (int64_t)sizeof(double);
    hold(f, 2, again(PyDict_GetItem(a[0], st->constants[2])));
    PyObject *const params_b_o = f->o[2];
    if (!params_b_o) goto fail;
    if (!is_array(st, params_b_o, D, 1)) goto punt;
    double *const b_2 = (double *)ARRAY(params_b_o)->data;
    const int64_t b_2_n0 = ARRAY(params_b_o)->dims[0];
    const int64_t b_2_step0 = ARRAY(params_b_o)->strides[0] / (int64_t)sizeof(double);
    if (!is_array(st, a[1], D, 2)) goto punt;
    double *const inputs = (double *)ARRAY(a[1])->data;
    const int64_t inputs_n0 = ARRAY(a[1])->dims[0];
    const int64_t inputs_step0 = ARRAY(a[1])->strides[0] / (int64_t)sizeof(double);
    const int64_t inputs_n1 = ARRAY(a[1])->dims[1];
    const int64_t inputs_step1 = ARRAY(a[1])->strides[1] / (int64_t)sizeof(double);
    double *const h = room(f, 0, sizeof(double) * (3));
    if (!h) goto punt;
    {
#pragma omp simd
        for (int64_t i = 0; i < 3; i++) {
            const double h_v = 0.0;  /* golden_functions.py:259 */
            h[i] = h_v;
        }
    }
    empty_stack((f->stacks + 0), 0);
    double *t_2 = room(f, 1, sizeof(double) * (3)), *t_2_next = room(f, 2, sizeof(double) * (3));
    if (!t_2 || !t_2_next) goto punt;
    memcpy(t_2, h, sizeof(double) * (3));
    const int64_t trips = inputs_n0;
    int64_t steps = 0;
    for (; steps < trips;) {  /* golden_functions.py:260 */
        const int64_t t = steps;
        if (!st->seen[0]) { if (!st->probing) goto unseen; st->seen[0] = 1; }
        const int64_t place = t < 0 ? t + inputs_n0 : t;
        if (place < 0 || place >= inputs_n0) goto punt;
        double *const t_3 = (double *)(inputs + place * (inputs_step0));  /* golden_functions.py:261 */
        if (inputs_n1 != W_n0) goto punt;
        if (U_n0 != 3) goto punt;
        if (W_n1 != U_n1) goto punt;
        if (W_n1 != b_2_n0) goto punt;
        {
            double *const row_2 = new_item((f->stacks + 0), 1, (int64_t[]){3}, sizeof(double));
            if (!row_2) goto punt;
            memcpy(row_2, t_2, sizeof(double) * (3));
        }
        double *const t_4_c = room(f, 3, sizeof(double) * (W_n1));
        if (!t_4_c) goto punt;
        WORK(inputs_n1 * W_n1 / 4);
        if ((1) * (inputs_n1) * (W_n1) <= 16384) product_d(t_4_c, 1, inputs_n1, W_n1, t_3, 0, inputs_step1, W, W_step0, W_step1);
        else if (!blas_d(st, t_4_c, 1, inputs_n1, W_n1, t_3, 0, inputs_step1, W, W_step0, W_step1)) {
            back(f);
            hold(f, 3, boxed(st, D, (void *)t_3, 1, (int64_t[]){inputs_n1}, (int64_t[]){inputs_step1}));
            if (!f->o[3]) goto fail;
            PyObject *argv[] = {f->o[3], params_W_o};
            hold(f, 4, PyObject_Vectorcall(st->calls[0], argv, 2, 0));
            if (!f->o[4]) goto fail;
            if (!is_array(st, f->o[4], D, 1)) goto punt;
            if (ARRAY(f->o[4])->dims[0] != W_n1) goto punt;
            if ((W_n1 <= 1 || ARRAY(f->o[4])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_4_c, ARRAY(f->o[4])->data, sizeof(double) * (W_n1));
            else for (int64_t i0 = 0; i0 < W_n1; i0++) memcpy(t_4_c + i0 * (1), (const char *)ARRAY(f->o[4])->data + i0 * ARRAY(f->o[4])->strides[0], sizeof(double));
        }
        double *const t_5_c = room(f, 4, sizeof(double) * (U_n1));
        if (!t_5_c) goto punt;
        WORK(3 * U_n1 / 4);
        if ((1) * (3) * (U_n1) <= 16384) product_d(t_5_c, 1, 3, U_n1, t_2, 0, 1, U, U_step0, U_step1);
        else if (!blas_d(st, t_5_c, 1, 3, U_n1, t_2, 0, 1, U, U_step0, U_step1)) {
            back(f);
            hold(f, 5, boxed(st, D, (void *)t_2, 1, (int64_t[]){3}, (int64_t[]){1}));
            if (!f->o[5]) goto fail;
            PyObject *argv[] = {f->o[5], params_U_o};
            hold(f, 6, PyObject_Vectorcall(st->calls[1], argv, 2, 0));
            if (!f->o[6]) goto fail;
            if (!is_array(st, f->o[6], D, 1)) goto punt;
            if (ARRAY(f->o[6])->dims[0] != U_n1) goto punt;
            if ((U_n1 <= 1 || ARRAY(f->o[6])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_5_c, ARRAY(f->o[6])->data, sizeof(double) * (U_n1));
            else for (int64_t i0 = 0; i0 < U_n1; i0++) memcpy(t_5_c + i0 * (1), (const char *)ARRAY(f->o[6])->data + i0 * ARRAY(f->o[6])->strides[0], sizeof(double));
        }
        double *const h_2 = room(f, 7, sizeof(double) * (W_n1));
        if (!h_2) goto punt;
        WORK(W_n1 * 3);
        if (b_2_step0 == 1) {
#pragma omp simd
            for (int64_t i = 0; i < W_n1; i++) {
                const double e0_v = t_4_c[i];
                const double e1_v = t_5_c[i];
                const double e2_v = b_2[i];
                const double t_6_v = e0_v + e1_v;
                const double t_7_v = t_6_v + e2_v;
                const double h_2_v = tanh(t_7_v);
                h_2[i] = h_2_v;
            }
        } else {
            const double *e0_r = t_4_c;
            const double *e1_r = t_5_c;
            const double *e2_r = b_2;
            double *h_2_r = h_2;
#pragma omp simd
            for (int64_t i = 0; i < W_n1; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i];
                const double e2_v = e2_r[i * b_2_step0];
                const double t_6_v = e0_v + e1_v;
                const double t_7_v = t_6_v + e2_v;
                const double h_2_v = tanh(t_7_v);
                h_2_r[i] = h_2_v;
            }
        }
        if (W_n1 != 3) goto punt;
        memcpy(t_2_next, h_2, sizeof(double) * (3));
        { double *const p = t_2; t_2 = t_2_next; t_2_next = p; }
        steps++;
        WORK(78);
    }
    double *const d_h = room(f, 9, sizeof(double) * (3));
    if (!d_h) goto punt;
    sums_d t_9_s; t_9_s.n = 0;
    {
        for (int64_t b = 0; b < 3; b += 512) {
            const int64_t end = b + 512 < 3 ? b + 512 : 3;
            double t_9_b = 0;
#pragma omp simd reduction(+:t_9_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = t_2[i];
                const double t_8_v = e0_v * e0_v;  /* golden_functions.py:262 */
                t_9_b += t_8_v;
                const double d_h_v = 2.0 * e0_v;
                d_h[i] = d_h_v;
            }
            add_d(&t_9_s, t_9_b);
        }
    }
    const double t_9 = total_d(&t_9_s);
    double *const d_W = room(f, 10, sizeof(double) * (W_n0 * W_n1));
    if (!d_W) goto punt;
    const int64_t loop_n = W_n0 * W_n1, loop_chunk = 262144;
    WORK(W_n0 * W_n1);
    JOIN(run, loop_of) loop = {d_W};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    double *const d_U = room(f, 11, sizeof(double) * (U_n0 * U_n1));
    if (!d_U) goto punt;
    const int64_t loop_2_n = U_n0 * U_n1, loop_2_chunk = 262144;
    WORK(U_n0 * U_n1);
    JOIN(run, loop_2_of) loop_2 = {d_U};
    share(st, JOIN(run, loop_2), &loop_2, loop_2_n, loop_2_chunk);
    double *const d_b_2 = room(f, 12, sizeof(double) * (b_2_n0));
    if (!d_b_2) goto punt;
    const int64_t loop_3_n = b_2_n0, loop_3_chunk = 262144;
    WORK(b_2_n0);
    JOIN(run, loop_3_of) loop_3 = {d_b_2};
    share(st, JOIN(run, loop_3), &loop_3, loop_3_n, loop_3_chunk);
    double *t_11 = room(f, 13, sizeof(double) * (3)), *t_11_next = room(f, 14, sizeof(double) * (3));
    if (!t_11 || !t_11_next) goto punt;
    memcpy(t_11, d_h, sizeof(double) * (3));
    double *d_W_2 = room(f, 15, sizeof(double) * (W_n0 * W_n1)), *d_W_2_next = room(f, 16, sizeof(double) * (W_n0 * W_n1));
    if (!d_W_2 || !d_W_2_next) goto punt;
    memcpy(d_W_2, d_W, sizeof(double) * (W_n0 * W_n1));
    double *d_U_2 = room(f, 17, sizeof(double) * (U_n0 * U_n1)), *d_U_2_next = room(f, 18, sizeof(double) * (U_n0 * U_n1));
    if (!d_U_2 || !d_U_2_next) goto punt;
    memcpy(d_U_2, d_U, sizeof(double) * (U_n0 * U_n1));
    double *d_b_3 = room(f, 19, sizeof(double) * (b_2_n0)), *d_b_3_next = room(f, 20, sizeof(double) * (b_2_n0));
    if (!d_b_3 || !d_b_3_next) goto punt;
    memcpy(d_b_3, d_b_2, sizeof(double) * (b_2_n0));
    double *h_3 = room(f, 21, sizeof(double) * (3)), *h_3_next = room(f, 22, sizeof(double) * (3));
    if (!h_3 || !h_3_next) goto punt;
    memcpy(h_3, t_2, sizeof(double) * (3));
    const int64_t trips_2 = inputs_n0;
    int64_t steps_2 = 0;
    for (; steps_2 < trips_2;) {
        const int64_t t_10 = trips_2 - 1 - steps_2;
        if (!st->seen[1]) { if (!st->probing) goto unseen; st->seen[1] = 1; }
        const int64_t *const row_3 = (f->stacks + 0)->rows + t_10 * 2;
        double *const t_12 = (double *)row_3[0];
        const int64_t t_12_n0 = row_3[1];
        const int64_t place_2 = t_10 < 0 ? t_10 + inputs_n0 : t_10;
        if (place_2 < 0 || place_2 >= inputs_n0) goto punt;
        double *const t_13 = (double *)(inputs + place_2 * (inputs_step0));  /* golden_functions.py:261 */
        if (b_2_n0 != 3) goto punt;
        if (U_n1 != 3) goto punt;
        double *const t_18 = (double *)t_12;
        if (U_n0 != t_12_n0) goto punt;
        double *const t_20 = (double *)t_13;
        if (W_n0 != inputs_n1) goto punt;
        if (W_n1 != 3) goto punt;
        double *const t_16 = room(f, 25, sizeof(double) * (3));
        if (!t_16) goto punt;
        double *const d_b_4 = room(f, 26, sizeof(double) * (3));
        if (!d_b_4) goto punt;
        {
#pragma omp simd
            for (int64_t i = 0; i < 3; i++) {
                const double e0_v = h_3[i];
                const double e1_v = t_11[i];
                const double e2_v = d_b_3[i];
                const double t_14_v = e0_v * e0_v;
                const double t_15_v = 1.0 - t_14_v;
                const double t_16_v = e1_v * t_15_v;
                t_16[i] = t_16_v;
                const double d_b_4_v = e2_v + t_16_v;
                d_b_4[i] = d_b_4_v;
            }
        }
        double *const t_17_c = room(f, 27, sizeof(double) * (U_n0));
        if (!t_17_c) goto punt;
        WORK(U_n0 * 3 / 4);
        if ((U_n0) * (3) * (1) <= 16384) product_d(t_17_c, U_n0, 3, 1, U, U_step0, U_step1, t_16, 1, 0);
        else if (!blas_d(st, t_17_c, U_n0, 3, 1, U, U_step0, U_step1, t_16, 1, 0)) {
            back(f);
            hold(f, 7, boxed(st, D, (void *)t_16, 1, (int64_t[]){3}, (int64_t[]){1}));
            if (!f->o[7]) goto fail;
            PyObject *argv[] = {params_U_o, f->o[7]};
            hold(f, 8, PyObject_Vectorcall(st->calls[2], argv, 2, 0));
            if (!f->o[8]) goto fail;
            if (!is_array(st, f->o[8], D, 1)) goto punt;
            if (ARRAY(f->o[8])->dims[0] != U_n0) goto punt;
            if ((U_n0 <= 1 || ARRAY(f->o[8])->strides[0] == (int64_t)sizeof(double) * (1))) memcpy(t_17_c, ARRAY(f->o[8])->data, sizeof(double) * (U_n0));
            else for (int64_t i0 = 0; i0 < U_n0; i0++) memcpy(t_17_c + i0 * (1), (const char *)ARRAY(f->o[8])->data + i0 * ARRAY(f->o[8])->strides[0], sizeof(double));
        }
        double *const d_U_3 = room(f, 29, sizeof(double) * (U_n0 * 3));
        if (!d_U_3) goto punt;
        WORK(U_n0 * 3 * 2);
        {
            for (int64_t i0 = 0; i0 < U_n0; i0++) {
                const double *e0_r = t_18 + i0 * 1;
                const double *e1_r = t_16;
                const double *e2_r = d_U_2 + i0 * U_n1;
                double *d_U_3_r = d_U_3 + i0 * (3);
                const double e0_v = *e0_r;
                #pragma omp simd
                for (int64_t i = 0; i < 3; i++) {
                    const double e1_v = e1_r[i];
                    const double e2_v = e2_r[i];
                    const double t_19_v = e0_v * e1_v;
                    const double d_U_3_v = e2_v + t_19_v;
                    d_U_3_r[i] = d_U_3_v;
                }
            }
        }
        double *const d_W_3 = room(f, 31, sizeof(double) * (W_n0 * 3));
        if (!d_W_3) goto punt;
        WORK(W_n0 * 3 * 2);
        {
            for (int64_t i0 = 0; i0 < W_n0; i0++) {
                const double *e0_r = t_20 + i0 * inputs_step1;
                const double *e1_r = t_16;
                const double *e2_r = d_W_2 + i0 * W_n1;
                double *d_W_3_r = d_W_3 + i0 * (3);
                const double e0_v = *e0_r;
                #pragma omp simd
                for (int64_t i = 0; i < 3; i++) {
                    const double e1_v = e1_r[i];
                    const double e2_v = e2_r[i];
                    const double t_21_v = e0_v * e1_v;
                    const double d_W_3_v = e2_v + t_21_v;
                    d_W_3_r[i] = d_W_3_v;
                }
            }
        }
        if (U_n0 != 3) goto punt;
        memcpy(t_11_next, t_17_c, sizeof(double) * (3));
        memcpy(d_W_2_next, d_W_3, sizeof(double) * (W_n0 * 3));
        memcpy(d_U_2_next, d_U_3, sizeof(double) * (U_n0 * 3));
        memcpy(d_b_3_next, d_b_4, sizeof(double) * (3));
        if (U_n0 != 3) goto punt;
        memcpy(h_3_next, t_12, sizeof(double) * (3));
        { double *const p = t_11; t_11 = t_11_next; t_11_next = p; }
        { double *const p = d_W_2; d_W_2 = d_W_2_next; d_W_2_next = p; }
        { double *const p = d_U_2; d_U_2 = d_U_2_next; d_U_2_next = p; }
        { double *const p = d_b_3; d_b_3 = d_b_3_next; d_b_3_next = p; }
        { double *const p = h_3; h_3 = h_3_next; h_3_next = p; }
        steps_2++;
        WORK(101);
    }
    back(f);
    hold(f, 9, PyTuple_New(2));
    if (!f->o[9]) goto fail;
    hold(f, 10, scalar(st, D, t_9, 0));
    if (!f->o[10]) goto fail;
    PyTuple_SetItem(f->o[9], 0, again(f->o[10]));
    hold(f, 11, PyDict_New());
    if (!f->o[11]) goto fail;
    {
        double *const given = new_array(st, f, 12, D, 2, (int64_t[]){W_n0, W_n1}, 0);
        if (!given) goto punt;
        memcpy(given, d_W_2, sizeof(double) * (W_n0 * W_n1));
    }
    if (!f->o[12]) goto fail;
    PyObject *const part = again(f->o[12]);
    if (PyDict_SetItem(f->o[11], st->constants[0], part) < 0) { Py_DecRef(part); goto fail; }
    Py_DecRef(part);
    {
        double *const given_2 = new_array(st, f, 13, D, 2, (int64_t[]){U_n0, U_n1}, 0);
        if (!given_2) goto punt;
        memcpy(given_2, d_U_2, sizeof(double) * (U_n0 * U_n1));
    }
    if (!f->o[13]) goto fail;
    PyObject *const part_2 = again(f->o[13]);
    if (PyDict_SetItem(f->o[11], st->constants[1], part_2) < 0) { Py_DecRef(part_2); goto fail; }
    Py_DecRef(part_2);
    {
        double *const given_3 = new_array(st, f, 14, D, 1, (int64_t[]){b_2_n0}, 0);
        if (!given_3) goto punt;
        memcpy(given_3, d_b_3, sizeof(double) * (b_2_n0));
    }
    if (!f->o[14]) goto fail;
    PyObject *const part_3 = again(f->o[14]);
    if (PyDict_SetItem(f->o[11], st->constants[2], part_3) < 0) { Py_DecRef(part_3); goto fail; }
    Py_DecRef(part_3);
    PyTuple_SetItem(f->o[9], 1, again(f->o[11]));
    PyObject *const whole = again(f->o[9]);
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
