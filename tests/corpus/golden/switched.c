#define ARGUMENTS 2
#define SLOTS 31
#define OBJECTS 3
#define STACKS 5

typedef struct {
    double *t_2, *d_h, *t_14_s;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    double *const t_2 = of->t_2, *const d_h = of->d_h;
    sums_d t_14_s; t_14_s.n = 0;
    {
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_14_b = 0;
#pragma omp simd reduction(+:t_14_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = t_2[i];
                const double t_13_v = e0_v * e0_v;  /* golden_functions.py:336 */
                t_14_b += t_13_v;
                const double d_h_v = 2.0 * e0_v;
                d_h[i] = d_h_v;
            }
            add_d(&t_14_s, t_14_b);
        }
    }
    of->t_14_s[k] = total_d(&t_14_s);
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    if (!is_array(st, a[0], D, 1)) goto punt;
    double *const x = (double *)ARRAY(a[0])->data;
    const int64_t x_n0 = ARRAY(a[0])->dims[0];
    const int64_t x_step0 = ARRAY(a[0])->strides[0] / (int64_t)sizeof(double);
    empty_stack((f->stacks + 0), 0);
    empty_stack((f->stacks + 1), 0);
    empty_stack((f->stacks + 2), 0);
    empty_stack((f->stacks + 3), 0);
    empty_stack((f->stacks + 4), 0);
    double *t_2 = room(f, 0, sizeof(double) * (x_n0)), *t_2_next = room(f, 1, sizeof(double) * (x_n0));
    if (!t_2 || !t_2_next) goto punt;
    for (int64_t i0 = 0; i0 < x_n0; i0++)
        t_2[i0 * (1)] = x[i0 * (x_step0)];
    const int64_t trips = 12;
    int64_t steps = 0;
    for (; steps < trips;) {  /* golden_functions.py:330 */
        const int64_t t = steps;
        if (!st->seen[0]) { if (!st->probing) goto unseen; st->seen[0] = 1; }
        {
            double *const row_2 = new_item((f->stacks + 1), 1, (int64_t[]){x_n0}, sizeof(double));
            if (!row_2) goto punt;
            memcpy(row_2, t_2, sizeof(double) * (x_n0));
        }
        WORK(x_n0);
        sums_d t_3_s; t_3_s.n = 0;
        {
            for (int64_t b = 0; b < x_n0; b += 512) {
                const int64_t end = b + 512 < x_n0 ? b + 512 : x_n0;
                double t_3_b = 0;
#pragma omp simd reduction(+:t_3_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = t_2[i];
                    t_3_b += e0_v;  /* golden_functions.py:331 */
                }
                add_d(&t_3_s, t_3_b);
            }
        }
        const double t_3 = total_d(&t_3_s);
        const uint8_t t_4 = t_3 > 0.0;
        {
            uint8_t *const row_3 = new_row((f->stacks + 0), 1);
            if (!row_3) goto punt;
            *row_3 = t_4;
        }
        double *h;
        int64_t h_step0, h_n0;
        double *t_5;
        int64_t t_5_step0, t_5_n0;
        double *a_2;
        int64_t a_2_step0, a_2_n0;
        double *t_6;
        int64_t t_6_step0, t_6_n0;
        if (t_4) {
            if (!st->seen[1]) { if (!st->probing) goto unseen; st->seen[1] = 1; }
            double *const a_3 = room(f, 2, sizeof(double) * (x_n0));
            if (!a_3) goto punt;
            double *const t_7 = room(f, 3, sizeof(double) * (x_n0));
            if (!t_7) goto punt;
            double *const h_2 = room(f, 5, sizeof(double) * (x_n0));
            if (!h_2) goto punt;
            WORK(x_n0 * 4);
            {
#pragma omp simd
                for (int64_t i = 0; i < x_n0; i++) {
                    const double e0_v = t_2[i];
                    const double a_3_v = sin(e0_v);  /* golden_functions.py:332 */
                    a_3[i] = a_3_v;
                    const double t_7_v = cos(e0_v);  /* golden_functions.py:333 */
                    t_7[i] = t_7_v;
                    const double t_8_v = a_3_v * t_7_v;
                    const double h_2_v = t_8_v - 0.3;
                    h_2[i] = h_2_v;
                }
            }
            h = (double *)h_2;
            h_n0 = x_n0;
            h_step0 = 1;
            t_5 = (double *)t_7;
            t_5_n0 = x_n0;
            t_5_step0 = 1;
            a_2 = (double *)a_3;
            a_2_n0 = x_n0;
            a_2_step0 = 1;
            t_6 = 0;
            t_6_n0 = 0;
            t_6_step0 = 0;
        } else {
            if (!st->seen[2]) { if (!st->probing) goto unseen; st->seen[2] = 1; }
            double *const t_11 = room(f, 8, sizeof(double) * (x_n0));
            if (!t_11) goto punt;
            double *const h_3 = room(f, 10, sizeof(double) * (x_n0));
            if (!h_3) goto punt;
            WORK(x_n0 * 5);
            {
#pragma omp simd
                for (int64_t i = 0; i < x_n0; i++) {
                    const double e0_v = t_2[i];
                    const double t_9_v = e0_v * e0_v;  /* golden_functions.py:335 */
                    const double t_10_v = -t_9_v;
                    const double t_11_v = exp(t_10_v);
                    t_11[i] = t_11_v;
                    const double t_12_v = e0_v * t_11_v;
                    const double h_3_v = t_12_v + 0.2;
                    h_3[i] = h_3_v;
                }
            }
            h = (double *)h_3;
            h_n0 = x_n0;
            h_step0 = 1;
            t_5 = 0;
            t_5_n0 = 0;
            t_5_step0 = 0;
            a_2 = 0;
            a_2_n0 = 0;
            a_2_step0 = 0;
            t_6 = (double *)t_11;
            t_6_n0 = x_n0;
            t_6_step0 = 1;
        }
        {
            double *const row_4 = new_item((f->stacks + 2), 1, (int64_t[]){t_5_n0}, sizeof(double));
            if (!row_4) goto punt;
            for (int64_t i0 = 0; i0 < t_5_n0; i0++)
                row_4[i0 * (1)] = t_5[i0 * (t_5_step0)];
        }
        {
            double *const row_5 = new_item((f->stacks + 3), 1, (int64_t[]){a_2_n0}, sizeof(double));
            if (!row_5) goto punt;
            for (int64_t i0 = 0; i0 < a_2_n0; i0++)
                row_5[i0 * (1)] = a_2[i0 * (a_2_step0)];
        }
        {
            double *const row_6 = new_item((f->stacks + 4), 1, (int64_t[]){t_6_n0}, sizeof(double));
            if (!row_6) goto punt;
            for (int64_t i0 = 0; i0 < t_6_n0; i0++)
                row_6[i0 * (1)] = t_6[i0 * (t_6_step0)];
        }
        if (h_n0 != x_n0) goto punt;
        for (int64_t i0 = 0; i0 < x_n0; i0++)
            t_2_next[i0 * (1)] = h[i0 * (h_step0)];
        { double *const p = t_2; t_2 = t_2_next; t_2_next = p; }
        steps++;
        WORK(126);
    }
    double *const d_h = room(f, 12, sizeof(double) * (x_n0));
    if (!d_h) goto punt;
    const int64_t loop_n = x_n0, loop_chunk = 65536;
    const int64_t loop_chunks = (loop_n + loop_chunk - 1) / loop_chunk;
    double *const t_14_s = room(f, 30, sizeof(double) * (loop_chunks));
    if (!t_14_s) goto punt;
    WORK(x_n0 * 3);
    JOIN(run, loop_of) loop = {t_2, d_h, t_14_s};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    const double t_14 = summed_d(t_14_s, loop_chunks, loop_n % loop_chunk != 0);
    double *t_16 = room(f, 13, sizeof(double) * (x_n0)), *t_16_next = room(f, 14, sizeof(double) * (x_n0));
    if (!t_16 || !t_16_next) goto punt;
    memcpy(t_16, d_h, sizeof(double) * (x_n0));
    const int64_t trips_2 = 12;
    int64_t steps_2 = 0;
    for (; steps_2 < trips_2;) {  /* golden_functions.py:330 */
        const int64_t t_15 = trips_2 - 1 - steps_2;
        if (!st->seen[3]) { if (!st->probing) goto unseen; st->seen[3] = 1; }
        const uint8_t t_17 = *(uint8_t *)((f->stacks + 0)->rows + t_15);
        const int64_t *const row_7 = (f->stacks + 1)->rows + t_15 * 2;
        double *const t_18 = (double *)row_7[0];
        const int64_t t_18_n0 = row_7[1];
        const int64_t *const row_8 = (f->stacks + 2)->rows + t_15 * 2;
        double *const t_19 = (double *)row_8[0];
        const int64_t t_19_n0 = row_8[1];
        const int64_t *const row_9 = (f->stacks + 3)->rows + t_15 * 2;
        double *const a_4 = (double *)row_9[0];
        const int64_t a_4_n0 = row_9[1];
        const int64_t *const row_10 = (f->stacks + 4)->rows + t_15 * 2;
        double *const t_20 = (double *)row_10[0];
        const int64_t t_20_n0 = row_10[1];
        double *t_21;
        int64_t t_21_step0, t_21_n0;
        if (t_17) {  /* golden_functions.py:331 */
            if (!st->seen[4]) { if (!st->probing) goto unseen; st->seen[4] = 1; }
            if (x_n0 != t_19_n0) goto punt;
            if (x_n0 != a_4_n0) goto punt;
            if (x_n0 != t_18_n0) goto punt;
            double *const t_23 = room(f, 17, sizeof(double) * (x_n0));
            if (!t_23) goto punt;
            double *const t_27 = room(f, 21, sizeof(double) * (x_n0));
            if (!t_27) goto punt;
            WORK(x_n0 * 5);
            {
#pragma omp simd
                for (int64_t i = 0; i < x_n0; i++) {
                    const double e0_v = t_16[i];
                    const double e1_v = t_19[i];
                    const double e2_v = a_4[i];
                    const double e3_v = t_18[i];
                    const double d_a_v = e0_v * e1_v;  /* golden_functions.py:333 */
                    const double t_22_v = e0_v * e2_v;
                    const double t_23_v = -t_22_v;
                    t_23[i] = t_23_v;
                    const double t_26_v = cos(e3_v);  /* golden_functions.py:332 */
                    const double t_27_v = d_a_v * t_26_v;
                    t_27[i] = t_27_v;
                }
            }
            double *const t_28 = room(f, 22, sizeof(double) * (x_n0));
            if (!t_28) goto punt;
            WORK(x_n0 * 3);
            {
                const double *e0_r = t_18;
                const double *e1_r = t_23;
                const double *e2_r = t_27;
                double *t_28_r = t_28;
#pragma omp simd
                for (int64_t i = 0; i < x_n0; i++) {
                    const double e0_v = e0_r[i];
                    const double e1_v = e1_r[i];
                    const double e2_v = e2_r[i];
                    const double t_24_v = sin(e0_v);
                    const double t_25_v = e1_v * t_24_v;
                    const double t_28_v = t_25_v + e2_v;
                    t_28_r[i] = t_28_v;
                }
            }
            t_21 = (double *)t_28;
            t_21_n0 = x_n0;
            t_21_step0 = 1;
        } else {
            if (!st->seen[5]) { if (!st->probing) goto unseen; st->seen[5] = 1; }
            if (x_n0 != t_20_n0) goto punt;
            if (x_n0 != t_18_n0) goto punt;
            double *const t_35 = room(f, 29, sizeof(double) * (x_n0));
            if (!t_35) goto punt;
            WORK(x_n0 * 7);
            {
#pragma omp simd
                for (int64_t i = 0; i < x_n0; i++) {
                    const double e0_v = t_16[i];
                    const double e1_v = t_20[i];
                    const double e2_v = t_18[i];
                    const double t_29_v = e0_v * e1_v;  /* golden_functions.py:335 */
                    const double t_30_v = e0_v * e2_v;
                    const double t_31_v = t_30_v * e1_v;
                    const double t_32_v = -t_31_v;
                    const double t_33_v = 2.0 * t_32_v;
                    const double t_34_v = t_33_v * e2_v;
                    const double t_35_v = t_29_v + t_34_v;
                    t_35[i] = t_35_v;
                }
            }
            t_21 = (double *)t_35;
            t_21_n0 = x_n0;
            t_21_step0 = 1;
        }
        if (t_21_n0 != x_n0) goto punt;
        for (int64_t i0 = 0; i0 < x_n0; i0++)
            t_16_next[i0 * (1)] = t_21[i0 * (t_21_step0)];
        { double *const p = t_16; t_16 = t_16_next; t_16_next = p; }
        steps_2++;
        WORK(97);
    }
    back(f);
    hold(f, 0, PyTuple_New(2));
    if (!f->o[0]) goto fail;
    hold(f, 1, scalar(st, D, t_14, 0));
    if (!f->o[1]) goto fail;
    PyTuple_SetItem(f->o[0], 0, again(f->o[1]));
    {
        double *const given = new_array(st, f, 2, D, 1, (int64_t[]){x_n0}, 0);
        if (!given) goto punt;
        memcpy(given, t_16, sizeof(double) * (x_n0));
    }
    if (!f->o[2]) goto fail;
    PyTuple_SetItem(f->o[0], 1, again(f->o[2]));
    PyObject *const whole = again(f->o[0]);
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
