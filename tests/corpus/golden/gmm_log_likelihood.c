#define ARGUMENTS 4
#define SLOTS 45
#define OBJECTS 9
#define STACKS 0

typedef struct {
    int64_t means_n0, x_n1, x_step0, x_step1, means_step0, means_step1;
    double *t, *means, *t_2;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    const int64_t means_n0 = of->means_n0, x_n1 = of->x_n1, x_step0 = of->x_step0, x_step1 = of->x_step1, means_step0 = of->means_step0, means_step1 = of->means_step1;
    double *const t = of->t, *const means = of->means, *const t_2 = of->t_2;
    if (x_step1 == 1 && means_step1 == 1) {
        for (int64_t i0 = from; i0 < to; i0++) {
            for (int64_t i1 = 0; i1 < means_n0; i1++) {
                const double *e0_r = t + i0 * x_step0;
                const double *e1_r = means + i1 * means_step0;
                double *t_2_r = t_2 + i0 * (means_n0 * x_n1) + i1 * (x_n1);
                #pragma omp simd
                for (int64_t i = 0; i < x_n1; i++) {
                    const double e0_v = e0_r[i];
                    const double e1_v = e1_r[i];
                    const double t_2_v = e0_v - e1_v;
                    t_2_r[i] = t_2_v;
                }
            }
        }
    } else {
        for (int64_t i0 = from; i0 < to; i0++) {
            for (int64_t i1 = 0; i1 < means_n0; i1++) {
                const double *e0_r = t + i0 * x_step0;
                const double *e1_r = means + i1 * means_step0;
                double *t_2_r = t_2 + i0 * (means_n0 * x_n1) + i1 * (x_n1);
                #pragma omp simd
                for (int64_t i = 0; i < x_n1; i++) {
                    const double e0_v = e0_r[i * x_step1];
                    const double e1_v = e1_r[i * means_step1];
                    const double t_2_v = e0_v - e1_v;
                    t_2_r[i] = t_2_v;
                }
            }
        }
    }
}

typedef struct {
    int64_t x_n1, log_scales_step0, log_scales_step1;
    double *log_scales, *t_3, *t_7;
} JOIN(run, loop_2_of);
static __attribute__((noinline)) void JOIN(run, loop_2)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_2_of) *const of = all;
    const int64_t x_n1 = of->x_n1, log_scales_step0 = of->log_scales_step0, log_scales_step1 = of->log_scales_step1;
    double *const log_scales = of->log_scales, *const t_3 = of->t_3, *const t_7 = of->t_7;
    if (log_scales_step1 == 1) {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = log_scales + i0 * log_scales_step0;
            double *t_3_r = t_3 + i0 * (x_n1);
            double *t_7_r = t_7 + i0 * (1);
            sums_d t_7_s; t_7_s.n = 0;
            for (int64_t b = 0; b < x_n1; b += 512) {
                const int64_t end = b + 512 < x_n1 ? b + 512 : x_n1;
                double t_7_b = 0;
            #pragma omp simd reduction(+:t_7_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i];
                    const double t_3_v = exp(e0_v);
                    t_3_r[i] = t_3_v;
                    t_7_b += e0_v;
                }
                add_d(&t_7_s, t_7_b);
            }
            t_7[i0 * (1)] = total_d(&t_7_s);
        }
    } else {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = log_scales + i0 * log_scales_step0;
            double *t_3_r = t_3 + i0 * (x_n1);
            double *t_7_r = t_7 + i0 * (1);
            sums_d t_7_s; t_7_s.n = 0;
            for (int64_t b = 0; b < x_n1; b += 512) {
                const int64_t end = b + 512 < x_n1 ? b + 512 : x_n1;
                double t_7_b = 0;
            #pragma omp simd reduction(+:t_7_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i * log_scales_step1];
                    const double t_3_v = exp(e0_v);
                    t_3_r[i] = t_3_v;
                    t_7_b += e0_v;
                }
                add_d(&t_7_s, t_7_b);
            }
            t_7[i0 * (1)] = total_d(&t_7_s);
        }
    }
}

typedef struct {
    int64_t means_n0, x_n1, c3_v, log_scales_n1;
    double *t_2, *t_3, *scaled, *t_5;
} JOIN(run, loop_3_of);
static __attribute__((noinline)) void JOIN(run, loop_3)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_3_of) *const of = all;
    const int64_t means_n0 = of->means_n0, x_n1 = of->x_n1, c3_v = of->c3_v, log_scales_n1 = of->log_scales_n1;
    double *const t_2 = of->t_2, *const t_3 = of->t_3, *const scaled = of->scaled, *const t_5 = of->t_5;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            for (int64_t i1 = 0; i1 < means_n0; i1++) {
                const double *e0_r = t_2 + i0 * c3_v + i1 * x_n1;
                const double *e1_r = t_3 + i1 * log_scales_n1;
                double *scaled_r = scaled + i0 * (means_n0 * x_n1) + i1 * (x_n1);
                double *t_5_r = t_5 + i0 * (means_n0) + i1 * (1);
                sums_d t_5_s; t_5_s.n = 0;
                for (int64_t b = 0; b < x_n1; b += 512) {
                    const int64_t end = b + 512 < x_n1 ? b + 512 : x_n1;
                    double t_5_b = 0;
                #pragma omp simd reduction(+:t_5_b)
                    for (int64_t i = b; i < end; i++) {
                        const double e0_v = e0_r[i];
                        const double e1_v = e1_r[i];
                        const double scaled_v = e0_v / e1_v;
                        scaled_r[i] = scaled_v;
                        const double t_4_v = scaled_v * scaled_v;  /* golden_functions.py:128 */
                        t_5_b += t_4_v;
                    }
                    add_d(&t_5_s, t_5_b);
                }
                t_5[i0 * (means_n0) + i1 * (1)] = total_d(&t_5_s);
            }
        }
    }
}

typedef struct {
    int64_t means_n0, log_weights_step0;
    double *t_5, *t_7, *log_weights, *t_8;
} JOIN(run, loop_4_of);
static __attribute__((noinline)) void JOIN(run, loop_4)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_4_of) *const of = all;
    const int64_t means_n0 = of->means_n0, log_weights_step0 = of->log_weights_step0;
    double *const t_5 = of->t_5, *const t_7 = of->t_7, *const log_weights = of->log_weights, *const t_8 = of->t_8;
    if (log_weights_step0 == 1) {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_5 + i0 * means_n0;
            const double *e1_r = t_7;
            const double *e2_r = log_weights;
            double *t_8_r = t_8 + i0 * (means_n0);
            #pragma omp simd
            for (int64_t i = 0; i < means_n0; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i];
                const double e2_v = e2_r[i];
                const double t_6_v = (-0.5) * e0_v;
                const double log_density_v = t_6_v - e1_v;
                const double t_8_v = log_density_v + e2_v;  /* golden_functions.py:129 */
                t_8_r[i] = t_8_v;
            }
        }
    } else {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_5 + i0 * means_n0;
            const double *e1_r = t_7;
            const double *e2_r = log_weights;
            double *t_8_r = t_8 + i0 * (means_n0);
            #pragma omp simd
            for (int64_t i = 0; i < means_n0; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i];
                const double e2_v = e2_r[i * log_weights_step0];
                const double t_6_v = (-0.5) * e0_v;
                const double log_density_v = t_6_v - e1_v;
                const double t_8_v = log_density_v + e2_v;  /* golden_functions.py:129 */
                t_8_r[i] = t_8_v;
            }
        }
    }
}

typedef struct {
    int64_t log_weights_step0;
    double *log_weights, *t_9, *t_10_s;
} JOIN(run, loop_5_of);
static __attribute__((noinline)) void JOIN(run, loop_5)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_5_of) *const of = all;
    const int64_t log_weights_step0 = of->log_weights_step0;
    double *const log_weights = of->log_weights, *const t_9 = of->t_9;
    sums_d t_10_s; t_10_s.n = 0;
    if (log_weights_step0 == 1) {
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_10_b = 0;
#pragma omp simd reduction(+:t_10_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = log_weights[i];
                const double t_9_v = exp(e0_v);
                t_9[i] = t_9_v;
                t_10_b += t_9_v;
            }
            add_d(&t_10_s, t_10_b);
        }
    } else {
        const double *e0_r = log_weights;
        double *t_9_r = t_9;
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_10_b = 0;
#pragma omp simd reduction(+:t_10_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = e0_r[i * log_weights_step0];
                const double t_9_v = exp(e0_v);
                t_9_r[i] = t_9_v;
                t_10_b += t_9_v;
            }
            add_d(&t_10_s, t_10_b);
        }
    }
    of->t_10_s[k] = total_d(&t_10_s);
}

typedef struct {
    int64_t means_n0;
    double *t_8, *joint, *top;
    double t_11;
} JOIN(run, loop_6_of);
static __attribute__((noinline)) void JOIN(run, loop_6)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_6_of) *const of = all;
    const int64_t means_n0 = of->means_n0;
    double *const t_8 = of->t_8, *const joint = of->joint, *const top = of->top;
    const double t_11 = of->t_11;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_8 + i0 * means_n0;
            double *joint_r = joint + i0 * (means_n0);
            double *top_r = top + i0 * (1);
            double top_b = -INFINITY;
            #pragma omp simd reduction(max_d:top_b)
            for (int64_t i = 0; i < means_n0; i++) {
                const double e0_v = e0_r[i];
                const double joint_v = e0_v - t_11;
                joint_r[i] = joint_v;
                top_b = max_d(joint_v, top_b);  /* golden_functions.py:130 */
            }
            top_r[0] = max_d(top_b, top_r[0]);
        }
    }
}

typedef struct {
    int64_t means_n0;
    double *joint, *t_12, *t_23, *t_14, *t_15;
    uint8_t *t_24;
    int64_t *t_25;
} JOIN(run, loop_7_of);
static __attribute__((noinline)) void JOIN(run, loop_7)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_7_of) *const of = all;
    const int64_t means_n0 = of->means_n0;
    double *const joint = of->joint, *const t_12 = of->t_12, *const t_23 = of->t_23, *const t_14 = of->t_14, *const t_15 = of->t_15;
    uint8_t *const t_24 = of->t_24;
    int64_t *const t_25 = of->t_25;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = joint + i0 * means_n0;
            const double *e1_r = t_12 + i0 * 1;
            const double *e2_r = t_23 + i0 * 1;
            double *t_14_r = t_14 + i0 * (means_n0);
            uint8_t *t_24_r = t_24 + i0 * (means_n0);
            double *t_15_r = t_15 + i0 * (1);
            int64_t *t_25_r = t_25 + i0 * (1);
            sums_d t_15_s; t_15_s.n = 0;
            sums_l t_25_s; t_25_s.n = 0;
            const double e1_v = *e1_r;
            const double e2_v = *e2_r;
            for (int64_t b = 0; b < means_n0; b += 512) {
                const int64_t end = b + 512 < means_n0 ? b + 512 : means_n0;
                double t_15_b = 0;
                int64_t t_25_b = 0;
            #pragma omp simd reduction(+:t_15_b) reduction(+:t_25_b)
                for (int64_t i = b; i < end; i++) {
                    const double e0_v = e0_r[i];
                    const double t_13_v = e0_v - e1_v;
                    const double t_14_v = exp(t_13_v);
                    t_14_r[i] = t_14_v;
                    t_15_b += t_14_v;
                    const uint8_t t_24_v = e0_v == e2_v;
                    t_24_r[i] = t_24_v;
                    t_25_b += (int64_t)t_24_v;
                }
                add_d(&t_15_s, t_15_b);
                add_l(&t_25_s, t_25_b);
            }
            t_15[i0 * (1)] = total_d(&t_15_s);
            t_25[i0 * (1)] = total_l(&t_25_s);
        }
    }
}

typedef struct {
    double *t_15, *top, *t_19, *t_18_s;
} JOIN(run, loop_8_of);
static __attribute__((noinline)) void JOIN(run, loop_8)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_8_of) *const of = all;
    double *const t_15 = of->t_15, *const top = of->top, *const t_19 = of->t_19;
    sums_d t_18_s; t_18_s.n = 0;
    {
        for (int64_t b = from; b < to; b += 512) {
            const int64_t end = b + 512 < to ? b + 512 : to;
            double t_18_b = 0;
#pragma omp simd reduction(+:t_18_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = t_15[i];
                const double e1_v = top[i];
                const double t_16_v = log(e0_v);
                const double t_17_v = e1_v + t_16_v;
                t_18_b += t_17_v;
                const double t_19_v = 1.0 / e0_v;
                t_19[i] = t_19_v;
            }
            add_d(&t_18_s, t_18_b);
        }
    }
    of->t_18_s[k] = total_d(&t_18_s);
}

typedef struct {
    int64_t means_n0;
    double *t_20, *t_14, *t_21, *t_22;
} JOIN(run, loop_9_of);
static __attribute__((noinline)) void JOIN(run, loop_9)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_9_of) *const of = all;
    const int64_t means_n0 = of->means_n0;
    double *const t_20 = of->t_20, *const t_14 = of->t_14, *const t_21 = of->t_21, *const t_22 = of->t_22;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_20 + i0 * 1;
            const double *e1_r = t_14 + i0 * means_n0;
            double *t_21_r = t_21 + i0 * (means_n0);
            double *t_22_r = t_22 + i0 * (1);
            sums_d t_22_s; t_22_s.n = 0;
            const double e0_v = *e0_r;
            for (int64_t b = 0; b < means_n0; b += 512) {
                const int64_t end = b + 512 < means_n0 ? b + 512 : means_n0;
                double t_22_b = 0;
            #pragma omp simd reduction(+:t_22_b)
                for (int64_t i = b; i < end; i++) {
                    const double e1_v = e1_r[i];
                    const double t_21_v = e0_v * e1_v;
                    t_21_r[i] = t_21_v;
                    t_22_b += t_21_v;
                }
                add_d(&t_22_s, t_22_b);
            }
            t_22[i0 * (1)] = total_d(&t_22_s);
        }
    }
}

typedef struct {
    double *t_22, *t_26;
    int64_t *t_25;
} JOIN(run, loop_10_of);
static __attribute__((noinline)) void JOIN(run, loop_10)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_10_of) *const of = all;
    double *const t_22 = of->t_22, *const t_26 = of->t_26;
    int64_t *const t_25 = of->t_25;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_22[i];
            const int64_t e1_v = t_25[i];
            const double d_top_v = 1.0 - e0_v;
            const double t_26_v = d_top_v / (double)e1_v;
            t_26[i] = t_26_v;
        }
    }
}

typedef struct {
    int64_t means_n0;
    uint8_t *t_24;
    double *t_27, *t_21, *t_36, *t_29_s, *t_33_s;
} JOIN(run, loop_11_of);
static __attribute__((noinline)) void JOIN(run, loop_11)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_11_of) *const of = all;
    const int64_t means_n0 = of->means_n0;
    uint8_t *const t_24 = of->t_24;
    double *const t_27 = of->t_27, *const t_21 = of->t_21, *const t_36 = of->t_36;
    double *const t_33 = of->t_33_s + k * (means_n0);
    for (int64_t i = 0; i < means_n0; i++) t_33[i] = 0;
    sums_d t_29_s; t_29_s.n = 0;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const uint8_t *e0_r = t_24 + i0 * means_n0;
            const double *e1_r = t_27 + i0 * 1;
            const double *e2_r = t_21 + i0 * means_n0;
            double *t_36_r = t_36 + i0 * (means_n0);
            double *t_33_r = t_33;
            const double e1_v = *e1_r;
            for (int64_t b = 0; b < means_n0; b += 512) {
                const int64_t end = b + 512 < means_n0 ? b + 512 : means_n0;
                double t_29_b = 0;
            #pragma omp simd reduction(+:t_29_b)
                for (int64_t i = b; i < end; i++) {
                    const uint8_t e0_v = e0_r[i];
                    const double e2_v = e2_r[i];
                    const double t_28_v = (double)e0_v * e1_v;
                    const double d_joint_v = e2_v + t_28_v;
                    t_29_b += d_joint_v;  /* golden_functions.py:129 */
                    t_33_r[i] += d_joint_v;
                    const double t_36_v = d_joint_v * (-0.5);
                    t_36_r[i] = t_36_v;
                }
                add_d(&t_29_s, t_29_b);
            }
        }
    }
    of->t_29_s[k] = total_d(&t_29_s);
}

typedef struct {
    double t_31;
    double *t_9, *t_33, *d_log_weights, *t_34;
} JOIN(run, loop_12_of);
static __attribute__((noinline)) void JOIN(run, loop_12)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_12_of) *const of = all;
    const double t_31 = of->t_31;
    double *const t_9 = of->t_9, *const t_33 = of->t_33, *const d_log_weights = of->d_log_weights, *const t_34 = of->t_34;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_9[i];
            const double e1_v = t_33[i];
            const double t_32_v = t_31 * e0_v;
            const double d_log_weights_v = t_32_v + e1_v;
            d_log_weights[i] = d_log_weights_v;
            const double t_34_v = -e1_v;  /* golden_functions.py:128 */
            t_34[i] = t_34_v;
        }
    }
}

typedef struct {
    double *t_37, *t_38;
} JOIN(run, loop_13_of);
static __attribute__((noinline)) void JOIN(run, loop_13)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_13_of) *const of = all;
    double *const t_37 = of->t_37, *const t_38 = of->t_38;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double e0_v = t_37[i];
            const double t_38_v = 2.0 * e0_v;
            t_38[i] = t_38_v;
        }
    }
}

typedef struct {
    int64_t means_n0, x_n1, c4_v, log_scales_n1;
    double *t_38, *scaled, *t_3, *t_41_s, *t_45_s;
} JOIN(run, loop_14_of);
static __attribute__((noinline)) void JOIN(run, loop_14)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_14_of) *const of = all;
    const int64_t means_n0 = of->means_n0, x_n1 = of->x_n1, c4_v = of->c4_v, log_scales_n1 = of->log_scales_n1;
    double *const t_38 = of->t_38, *const scaled = of->scaled, *const t_3 = of->t_3;
    double *const t_41 = of->t_41_s + k * (means_n0 * x_n1);
    for (int64_t i = 0; i < means_n0 * x_n1; i++) t_41[i] = 0;
    double *const t_45 = of->t_45_s + k * (means_n0 * x_n1);
    for (int64_t i = 0; i < means_n0 * x_n1; i++) t_45[i] = 0;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            for (int64_t i1 = 0; i1 < means_n0; i1++) {
                const double *e0_r = t_38 + i0 * means_n0 + i1 * 1;
                const double *e1_r = scaled + i0 * c4_v + i1 * x_n1;
                const double *e2_r = t_3 + i1 * log_scales_n1;
                double *t_41_r = t_41 + i1 * (x_n1);
                double *t_45_r = t_45 + i1 * (x_n1);
                const double e0_v = *e0_r;
                #pragma omp simd
                for (int64_t i = 0; i < x_n1; i++) {
                    const double e1_v = e1_r[i];
                    const double e2_v = e2_r[i];
                    const double d_scaled_v = e0_v * e1_v;
                    const double t_39_v = d_scaled_v / e2_v;  /* golden_functions.py:127 */
                    const double t_40_v = d_scaled_v * e1_v;
                    t_41_r[i] += t_40_v;
                    t_45_r[i] += t_39_v;
                }
            }
        }
    }
}

typedef struct {
    int64_t x_n1, log_scales_n1;
    double *t_41, *t_3, *t_35, *t_45, *d_log_scales, *d_means;
} JOIN(run, loop_15_of);
static __attribute__((noinline)) void JOIN(run, loop_15)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_15_of) *const of = all;
    const int64_t x_n1 = of->x_n1, log_scales_n1 = of->log_scales_n1;
    double *const t_41 = of->t_41, *const t_3 = of->t_3, *const t_35 = of->t_35, *const t_45 = of->t_45, *const d_log_scales = of->d_log_scales, *const d_means = of->d_means;
    {
        for (int64_t i0 = from; i0 < to; i0++) {
            const double *e0_r = t_41 + i0 * x_n1;
            const double *e1_r = t_3 + i0 * log_scales_n1;
            const double *e2_r = t_35 + i0 * 1;
            const double *e3_r = t_45 + i0 * x_n1;
            double *d_log_scales_r = d_log_scales + i0 * (x_n1);
            double *d_means_r = d_means + i0 * (x_n1);
            const double e2_v = *e2_r;
            #pragma omp simd
            for (int64_t i = 0; i < x_n1; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i];
                const double e3_v = e3_r[i];
                const double t_42_v = -e0_v;
                const double t_43_v = t_42_v / e1_v;
                const double t_44_v = t_43_v * e1_v;
                const double d_log_scales_v = e2_v + t_44_v;
                d_log_scales_r[i] = d_log_scales_v;
                const double d_means_v = -e3_v;
                d_means_r[i] = d_means_v;
            }
        }
    }
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    if (!is_array(st, a[0], D, 1)) goto punt;
    double *const log_weights = (double *)ARRAY(a[0])->data;
    const int64_t log_weights_n0 = ARRAY(a[0])->dims[0];
    const int64_t log_weights_step0 = ARRAY(a[0])->strides[0] / (int64_t)sizeof(double);
    if (!is_array(st, a[1], D, 2)) goto punt;
    double *const means = (double *)ARRAY(a[1])->data;
    const int64_t means_n0 = ARRAY(a[1])->dims[0];
    const int64_t means_step0 = ARRAY(a[1])->strides[0] / (int64_t)sizeof(double);
    const int64_t means_n1 = ARRAY(a[1])->dims[1];
    const int64_t means_step1 = ARRAY(a[1])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[2], D, 2)) goto punt;
    double *const log_scales = (double *)ARRAY(a[2])->data;
    const int64_t log_scales_n0 = ARRAY(a[2])->dims[0];
    const int64_t log_scales_step0 = ARRAY(a[2])->strides[0] / (int64_t)sizeof(double);
    const int64_t log_scales_n1 = ARRAY(a[2])->dims[1];
    const int64_t log_scales_step1 = ARRAY(a[2])->strides[1] / (int64_t)sizeof(double);
    if (!is_array(st, a[3], D, 2)) goto punt;
    double *const x = (double *)ARRAY(a[3])->data;
    const int64_t x_n0 = ARRAY(a[3])->dims[0];
    const int64_t x_step0 = ARRAY(a[3])->strides[0] / (int64_t)sizeof(double);
    const int64_t x_n1 = ARRAY(a[3])->dims[1];
    const int64_t x_step1 = ARRAY(a[3])->strides[1] / (int64_t)sizeof(double);
    double *const t = (double *)(x);  /* golden_functions.py:127 */
    if (x_n1 != means_n1) goto punt;
    if (means_n0 != log_scales_n0) goto punt;
    if (x_n1 != log_scales_n1) goto punt;
    if (means_n0 != log_weights_n0) goto punt;
    double *const t_2 = room(f, 0, sizeof(double) * (x_n0 * means_n0 * x_n1));
    if (!t_2) goto punt;
    const int64_t loop_n = x_n0, loop_chunk = rows_of(1 * means_n0 * x_n1 + 256 * means_n0, 262144, 1);
    WORK(x_n0 * means_n0 * x_n1);
    JOIN(run, loop_of) loop = {means_n0, x_n1, x_step0, x_step1, means_step0, means_step1, t, means, t_2};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    double *const t_3 = room(f, 1, sizeof(double) * (log_scales_n0 * log_scales_n1));
    if (!t_3) goto punt;
    double *const t_7 = room(f, 6, sizeof(double) * (means_n0));
    if (!t_7) goto punt;
    const int64_t loop_2_n = means_n0, loop_2_chunk = rows_of(5 * x_n1 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < means_n0; i++) t_7[i] = 0;
    WORK(means_n0 * x_n1 * 2);
    JOIN(run, loop_2_of) loop_2 = {x_n1, log_scales_step0, log_scales_step1, log_scales, t_3, t_7};
    share(st, JOIN(run, loop_2), &loop_2, loop_2_n, loop_2_chunk);
    double *const scaled = room(f, 2, sizeof(double) * (x_n0 * means_n0 * x_n1));
    if (!scaled) goto punt;
    double *const t_5 = room(f, 4, sizeof(double) * (x_n0 * means_n0));
    if (!t_5) goto punt;
    const int64_t loop_3_n = x_n0, loop_3_chunk = rows_of(3 * means_n0 * x_n1 + 256 * means_n0, 262144, 1);
    for (int64_t i = 0; i < x_n0 * means_n0; i++) t_5[i] = 0;
    WORK(x_n0 * means_n0 * x_n1 * 3);
    JOIN(run, loop_3_of) loop_3 = {means_n0, x_n1, means_n0 * x_n1, log_scales_n1, t_2, t_3, scaled, t_5};
    share(st, JOIN(run, loop_3), &loop_3, loop_3_n, loop_3_chunk);
    double *const t_8 = room(f, 8, sizeof(double) * (x_n0 * means_n0));
    if (!t_8) goto punt;
    const int64_t loop_4_n = x_n0, loop_4_chunk = rows_of(3 * means_n0 + 256 * 1, 262144, 1);
    WORK(x_n0 * means_n0 * 3);
    JOIN(run, loop_4_of) loop_4 = {means_n0, log_weights_step0, t_5, t_7, log_weights, t_8};
    share(st, JOIN(run, loop_4), &loop_4, loop_4_n, loop_4_chunk);
    double *const t_9 = room(f, 9, sizeof(double) * (means_n0));
    if (!t_9) goto punt;
    const int64_t loop_5_n = means_n0, loop_5_chunk = 32768;
    const int64_t loop_5_chunks = (loop_5_n + loop_5_chunk - 1) / loop_5_chunk;
    double *const t_10_s = room(f, 39, sizeof(double) * (loop_5_chunks));
    if (!t_10_s) goto punt;
    WORK(means_n0 * 2);
    JOIN(run, loop_5_of) loop_5 = {log_weights_step0, log_weights, t_9, t_10_s};
    share(st, JOIN(run, loop_5), &loop_5, loop_5_n, loop_5_chunk);
    const double t_10 = summed_d(t_10_s, loop_5_chunks, loop_5_n % loop_5_chunk != 0);
    const double t_11 = log(t_10);
    double *const joint = room(f, 10, sizeof(double) * (x_n0 * means_n0));
    if (!joint) goto punt;
    double *const top = room(f, 11, sizeof(double) * (x_n0));
    if (!top) goto punt;
    if (means_n0 == 0) goto punt;
    const int64_t loop_6_n = x_n0, loop_6_chunk = rows_of(2 * means_n0 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < x_n0; i++) top[i] = -INFINITY;
    WORK(x_n0 * means_n0 * 2);
    JOIN(run, loop_6_of) loop_6 = {means_n0, t_8, joint, top, t_11};
    share(st, JOIN(run, loop_6), &loop_6, loop_6_n, loop_6_chunk);
    double *const t_12 = (double *)(top);  /* golden_functions.py:131 */
    double *const t_23 = (double *)top;  /* golden_functions.py:130 */
    double *const t_14 = room(f, 13, sizeof(double) * (x_n0 * means_n0));
    if (!t_14) goto punt;
    uint8_t *const t_24 = room(f, 21, sizeof(uint8_t) * (x_n0 * means_n0));
    if (!t_24) goto punt;
    double *const t_15 = room(f, 14, sizeof(double) * (x_n0));
    if (!t_15) goto punt;
    int64_t *const t_25 = room(f, 22, sizeof(int64_t) * (x_n0));
    if (!t_25) goto punt;
    const int64_t loop_7_n = x_n0, loop_7_chunk = rows_of(8 * means_n0 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < x_n0; i++) t_15[i] = 0;
    for (int64_t i = 0; i < x_n0; i++) t_25[i] = 0;
    WORK(x_n0 * means_n0 * 5);
    JOIN(run, loop_7_of) loop_7 = {means_n0, joint, t_12, t_23, t_14, t_15, t_24, t_25};
    share(st, JOIN(run, loop_7), &loop_7, loop_7_n, loop_7_chunk);
    double *const t_19 = room(f, 17, sizeof(double) * (x_n0));
    if (!t_19) goto punt;
    const int64_t loop_8_n = x_n0, loop_8_chunk = 32768;
    const int64_t loop_8_chunks = (loop_8_n + loop_8_chunk - 1) / loop_8_chunk;
    double *const t_18_s = room(f, 40, sizeof(double) * (loop_8_chunks));
    if (!t_18_s) goto punt;
    WORK(x_n0 * 4);
    JOIN(run, loop_8_of) loop_8 = {t_15, top, t_19, t_18_s};
    share(st, JOIN(run, loop_8), &loop_8, loop_8_n, loop_8_chunk);
    const double t_18 = summed_d(t_18_s, loop_8_chunks, loop_8_n % loop_8_chunk != 0);
    double *const t_20 = (double *)t_19;
    double *const t_21 = room(f, 18, sizeof(double) * (x_n0 * means_n0));
    if (!t_21) goto punt;
    double *const t_22 = room(f, 19, sizeof(double) * (x_n0));
    if (!t_22) goto punt;
    const int64_t loop_9_n = x_n0, loop_9_chunk = rows_of(2 * means_n0 + 256 * 1, 262144, 1);
    for (int64_t i = 0; i < x_n0; i++) t_22[i] = 0;
    WORK(x_n0 * means_n0 * 2);
    JOIN(run, loop_9_of) loop_9 = {means_n0, t_20, t_14, t_21, t_22};
    share(st, JOIN(run, loop_9), &loop_9, loop_9_n, loop_9_chunk);
    double *const t_26 = room(f, 23, sizeof(double) * (x_n0));
    if (!t_26) goto punt;
    const int64_t loop_10_n = x_n0, loop_10_chunk = 131072;
    WORK(x_n0 * 2);
    JOIN(run, loop_10_of) loop_10 = {t_22, t_26, t_25};
    share(st, JOIN(run, loop_10), &loop_10, loop_10_n, loop_10_chunk);
    double *const t_27 = (double *)t_26;
    double *const t_36 = room(f, 29, sizeof(double) * (x_n0 * means_n0));
    if (!t_36) goto punt;
    double *const t_33 = room(f, 27, sizeof(double) * (means_n0));
    if (!t_33) goto punt;
    const int64_t loop_11_n = x_n0, loop_11_chunk = rows_of(5 * means_n0 + 256 * 1, 262144, 64);
    const int64_t loop_11_chunks = (loop_11_n + loop_11_chunk - 1) / loop_11_chunk;
    if (loop_11_chunks != 1) for (int64_t i = 0; i < means_n0; i++) t_33[i] = 0;
    double *const t_29_s = room(f, 41, sizeof(double) * (loop_11_chunks));
    if (!t_29_s) goto punt;
    double *const t_33_s = loop_11_chunks == 1 ? t_33 : room(f, 42, sizeof(double) * (loop_11_chunks * means_n0));
    if (!t_33_s) goto punt;
    WORK(x_n0 * means_n0 * 5);
    JOIN(run, loop_11_of) loop_11 = {means_n0, t_24, t_27, t_21, t_36, t_29_s, t_33_s};
    share(st, JOIN(run, loop_11), &loop_11, loop_11_n, loop_11_chunk);
    const double t_29 = summed_d(t_29_s, loop_11_chunks, loop_11_n % loop_11_chunk != 0);
    if (loop_11_chunks != 1) for (int64_t k = 0; k < loop_11_chunks; k++)
        for (int64_t i = 0; i < means_n0; i++) t_33[i] += t_33_s[k * (means_n0) + i];
    const double t_30 = -t_29;
    const double t_31 = t_30 / t_10;
    double *const t_37 = (double *)t_36;
    back(f);
    double *const d_log_weights = new_array(st, f, 0, D, 1, (int64_t[]){means_n0}, 0);
    if (!d_log_weights) goto punt;
    double *const t_34 = room(f, 28, sizeof(double) * (means_n0));
    if (!t_34) goto punt;
    const int64_t loop_12_n = means_n0, loop_12_chunk = 65536;
    WORK(means_n0 * 3);
    JOIN(run, loop_12_of) loop_12 = {t_31, t_9, t_33, d_log_weights, t_34};
    share(st, JOIN(run, loop_12), &loop_12, loop_12_n, loop_12_chunk);
    double *const t_35 = (double *)t_34;
    double *const t_38 = room(f, 30, sizeof(double) * (x_n0 * means_n0));
    if (!t_38) goto punt;
    const int64_t loop_13_n = x_n0 * means_n0, loop_13_chunk = 262144;
    WORK(x_n0 * means_n0);
    JOIN(run, loop_13_of) loop_13 = {t_37, t_38};
    share(st, JOIN(run, loop_13), &loop_13, loop_13_n, loop_13_chunk);
    double *const t_41 = room(f, 34, sizeof(double) * (means_n0 * x_n1));
    if (!t_41) goto punt;
    double *const t_45 = room(f, 38, sizeof(double) * (means_n0 * x_n1));
    if (!t_45) goto punt;
    const int64_t loop_14_n = x_n0, loop_14_chunk = rows_of(5 * means_n0 * x_n1 + 256 * means_n0, 262144, 64);
    const int64_t loop_14_chunks = (loop_14_n + loop_14_chunk - 1) / loop_14_chunk;
    if (loop_14_chunks != 1) for (int64_t i = 0; i < means_n0 * x_n1; i++) t_41[i] = 0;
    if (loop_14_chunks != 1) for (int64_t i = 0; i < means_n0 * x_n1; i++) t_45[i] = 0;
    double *const t_41_s = loop_14_chunks == 1 ? t_41 : room(f, 43, sizeof(double) * (loop_14_chunks * means_n0 * x_n1));
    if (!t_41_s) goto punt;
    double *const t_45_s = loop_14_chunks == 1 ? t_45 : room(f, 44, sizeof(double) * (loop_14_chunks * means_n0 * x_n1));
    if (!t_45_s) goto punt;
    WORK(x_n0 * means_n0 * x_n1 * 5);
    JOIN(run, loop_14_of) loop_14 = {means_n0, x_n1, means_n0 * x_n1, log_scales_n1, t_38, scaled, t_3, t_41_s, t_45_s};
    share(st, JOIN(run, loop_14), &loop_14, loop_14_n, loop_14_chunk);
    if (loop_14_chunks != 1) for (int64_t k = 0; k < loop_14_chunks; k++)
        for (int64_t i = 0; i < means_n0 * x_n1; i++) t_41[i] += t_41_s[k * (means_n0 * x_n1) + i];
    if (loop_14_chunks != 1) for (int64_t k = 0; k < loop_14_chunks; k++)
        for (int64_t i = 0; i < means_n0 * x_n1; i++) t_45[i] += t_45_s[k * (means_n0 * x_n1) + i];
    back(f);
    double *const d_log_scales = new_array(st, f, 1, D, 2, (int64_t[]){means_n0, x_n1}, 0);
    if (!d_log_scales) goto punt;
    double *const d_means = new_array(st, f, 2, D, 2, (int64_t[]){means_n0, x_n1}, 0);
    if (!d_means) goto punt;
    const int64_t loop_15_n = means_n0, loop_15_chunk = rows_of(5 * x_n1 + 256 * 1, 262144, 1);
    WORK(means_n0 * x_n1 * 5);
    JOIN(run, loop_15_of) loop_15 = {x_n1, log_scales_n1, t_41, t_3, t_35, t_45, d_log_scales, d_means};
    share(st, JOIN(run, loop_15), &loop_15, loop_15_n, loop_15_chunk);
    back(f);
    hold(f, 3, PyTuple_New(2));
    if (!f->o[3]) goto fail;
    hold(f, 4, scalar(st, D, t_18, 0));
    if (!f->o[4]) goto fail;
    PyTuple_SetItem(f->o[3], 0, again(f->o[4]));
    hold(f, 5, PyTuple_New(3));
    if (!f->o[5]) goto fail;
    hold(f, 6, again(f->o[0]));
    if (!f->o[6]) goto fail;
    PyTuple_SetItem(f->o[5], 0, again(f->o[6]));
    hold(f, 7, again(f->o[2]));
    if (!f->o[7]) goto fail;
    PyTuple_SetItem(f->o[5], 1, again(f->o[7]));
    hold(f, 8, again(f->o[1]));
    if (!f->o[8]) goto fail;
    PyTuple_SetItem(f->o[5], 2, again(f->o[8]));
    PyTuple_SetItem(f->o[3], 1, again(f->o[5]));
    PyObject *const whole = again(f->o[3]);
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
