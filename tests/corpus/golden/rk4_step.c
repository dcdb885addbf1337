#define ARGUMENTS 4
#define SLOTS 38
#define OBJECTS 14
#define STACKS 0

typedef struct {
    double alpha;
    double beta;
    double delta;
    double gamma;
    double prey;
    double predator;
    double t_2;
    double t_5;
    double t_49;
    double t_120;
    double t_121;
    double t_122;
    double t_123;
    double *t_125;
    double *d_k1;
} JOIN(run, parts);

static __attribute__((noinline)) int JOIN(run, part_0)(
    const State *st, Frame *f, PyObject *const *a, int *why, JOIN(run, parts) *kept)
{
    if (!is_array(st, a[0], D, 1)) goto punt;
    double *const state = (double *)ARRAY(a[0])->data;
    const int64_t state_n0 = ARRAY(a[0])->dims[0];
    const int64_t state_step0 = ARRAY(a[0])->strides[0] / (int64_t)sizeof(double);
    hold(f, 0, again(PyTuple_GetItem(a[1], 0)));
    PyObject *const rates_0_o = f->o[0];
    if (!rates_0_o) goto fail;
    const double alpha = (double)PyFloat_AsDouble(rates_0_o);
    if (alpha == -1 && PyErr_Occurred()) goto fail;
    hold(f, 1, again(PyTuple_GetItem(a[1], 1)));
    PyObject *const rates_1_o = f->o[1];
    if (!rates_1_o) goto fail;
    const double beta = (double)PyFloat_AsDouble(rates_1_o);
    if (beta == -1 && PyErr_Occurred()) goto fail;
    hold(f, 2, again(PyTuple_GetItem(a[1], 2)));
    PyObject *const rates_2_o = f->o[2];
    if (!rates_2_o) goto fail;
    const double delta = (double)PyFloat_AsDouble(rates_2_o);
    if (delta == -1 && PyErr_Occurred()) goto fail;
    hold(f, 3, again(PyTuple_GetItem(a[1], 3)));
    PyObject *const rates_3_o = f->o[3];
    if (!rates_3_o) goto fail;
    const double gamma = (double)PyFloat_AsDouble(rates_3_o);
    if (gamma == -1 && PyErr_Occurred()) goto fail;
    const double dt = (double)PyFloat_AsDouble(a[2]);
    if (dt == -1 && PyErr_Occurred()) goto fail;
    if (!is_array(st, a[3], D, 1)) goto punt;
    double *const target = (double *)ARRAY(a[3])->data;
    const int64_t target_n0 = ARRAY(a[3])->dims[0];
    const int64_t target_step0 = ARRAY(a[3])->strides[0] / (int64_t)sizeof(double);
    if (0 < 0 || 0 >= state_n0) goto punt;
    const double prey = *(state + 0 * (state_step0));  /* golden_functions.py:111 */
    if (1 < 0 || 1 >= state_n0) goto punt;
    const double predator = *(state + 1 * (state_step0));
    const double t = alpha * prey;  /* golden_functions.py:112 */
    const double t_2 = beta * prey;
    const double t_3 = t_2 * predator;
    const double t_4 = t - t_3;
    const double t_5 = delta * prey;
    const double t_6 = t_5 * predator;
    const double t_7 = gamma * predator;
    const double t_8 = t_6 - t_7;
    const double t_9 = 0.5 * dt;
    if (state_n0 != 2) goto punt;
    if (6.0 == 0) goto punt;
    const double t_40 = dt / 6.0;
    if (target_n0 != 2) goto punt;
    double *const k1 = room(f, 0, sizeof(double) * (2));
    if (!k1) goto punt;
    {
        (k1 + (0) * (1))[0] = t_4;
        (k1 + (1) * (1))[0] = t_8;
    }
    double *const t_11 = room(f, 2, sizeof(double) * (2));
    if (!t_11) goto punt;
    if (state_step0 == 1) {
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = k1[i];
            const double e1_v = state[i];
            const double t_10_v = t_9 * e0_v;  /* golden_functions.py:118 */
            const double t_11_v = e1_v + t_10_v;
            t_11[i] = t_11_v;
        }
    } else {
        const double *e0_r = k1;
        const double *e1_r = state;
        double *t_11_r = t_11;
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = e0_r[i];
            const double e1_v = e1_r[i * state_step0];
            const double t_10_v = t_9 * e0_v;  /* golden_functions.py:118 */
            const double t_11_v = e1_v + t_10_v;
            t_11_r[i] = t_11_v;
        }
    }
    if (0 < 0 || 0 >= 2) goto punt;
    const double prey_2 = *(t_11 + 0 * (1));  /* golden_functions.py:111 */
    if (1 < 0 || 1 >= 2) goto punt;
    const double predator_2 = *(t_11 + 1 * (1));
    const double t_12 = alpha * prey_2;  /* golden_functions.py:112 */
    const double t_13 = beta * prey_2;
    const double t_14 = t_13 * predator_2;
    const double t_15 = t_12 - t_14;
    const double t_16 = delta * prey_2;
    const double t_17 = t_16 * predator_2;
    const double t_18 = gamma * predator_2;
    const double t_19 = t_17 - t_18;
    double *const k2 = room(f, 3, sizeof(double) * (2));
    if (!k2) goto punt;
    {
        (k2 + (0) * (1))[0] = t_15;
        (k2 + (1) * (1))[0] = t_19;
    }
    double *const t_21 = room(f, 5, sizeof(double) * (2));
    if (!t_21) goto punt;
    double *const t_42 = room(f, 11, sizeof(double) * (2));
    if (!t_42) goto punt;
    if (state_step0 == 1) {
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = k2[i];
            const double e1_v = state[i];
            const double e2_v = k1[i];
            const double t_20_v = t_9 * e0_v;  /* golden_functions.py:119 */
            const double t_21_v = e1_v + t_20_v;
            t_21[i] = t_21_v;
            const double t_41_v = 2.0 * e0_v;  /* golden_functions.py:121 */
            const double t_42_v = e2_v + t_41_v;
            t_42[i] = t_42_v;
        }
    } else {
        const double *e0_r = k2;
        const double *e1_r = state;
        const double *e2_r = k1;
        double *t_21_r = t_21;
        double *t_42_r = t_42;
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = e0_r[i];
            const double e1_v = e1_r[i * state_step0];
            const double e2_v = e2_r[i];
            const double t_20_v = t_9 * e0_v;  /* golden_functions.py:119 */
            const double t_21_v = e1_v + t_20_v;
            t_21_r[i] = t_21_v;
            const double t_41_v = 2.0 * e0_v;  /* golden_functions.py:121 */
            const double t_42_v = e2_v + t_41_v;
            t_42_r[i] = t_42_v;
        }
    }
    if (0 < 0 || 0 >= 2) goto punt;
    const double prey_3 = *(t_21 + 0 * (1));  /* golden_functions.py:111 */
    if (1 < 0 || 1 >= 2) goto punt;
    const double predator_3 = *(t_21 + 1 * (1));
    const double t_22 = alpha * prey_3;  /* golden_functions.py:112 */
    const double t_23 = beta * prey_3;
    const double t_24 = t_23 * predator_3;
    const double t_25 = t_22 - t_24;
    const double t_26 = delta * prey_3;
    const double t_27 = t_26 * predator_3;
    const double t_28 = gamma * predator_3;
    const double t_29 = t_27 - t_28;
    double *const k3 = room(f, 6, sizeof(double) * (2));
    if (!k3) goto punt;
    {
        (k3 + (0) * (1))[0] = t_25;
        (k3 + (1) * (1))[0] = t_29;
    }
    double *const t_31 = room(f, 8, sizeof(double) * (2));
    if (!t_31) goto punt;
    double *const t_44 = room(f, 13, sizeof(double) * (2));
    if (!t_44) goto punt;
    if (state_step0 == 1) {
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = k3[i];
            const double e1_v = state[i];
            const double e2_v = t_42[i];
            const double t_30_v = dt * e0_v;  /* golden_functions.py:120 */
            const double t_31_v = e1_v + t_30_v;
            t_31[i] = t_31_v;
            const double t_43_v = 2.0 * e0_v;
            const double t_44_v = e2_v + t_43_v;
            t_44[i] = t_44_v;
        }
    } else {
        const double *e0_r = k3;
        const double *e1_r = state;
        const double *e2_r = t_42;
        double *t_31_r = t_31;
        double *t_44_r = t_44;
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = e0_r[i];
            const double e1_v = e1_r[i * state_step0];
            const double e2_v = e2_r[i];
            const double t_30_v = dt * e0_v;  /* golden_functions.py:120 */
            const double t_31_v = e1_v + t_30_v;
            t_31_r[i] = t_31_v;
            const double t_43_v = 2.0 * e0_v;
            const double t_44_v = e2_v + t_43_v;
            t_44_r[i] = t_44_v;
        }
    }
    if (0 < 0 || 0 >= 2) goto punt;
    const double prey_4 = *(t_31 + 0 * (1));  /* golden_functions.py:111 */
    if (1 < 0 || 1 >= 2) goto punt;
    const double predator_4 = *(t_31 + 1 * (1));
    const double t_32 = alpha * prey_4;  /* golden_functions.py:112 */
    const double t_33 = beta * prey_4;
    const double t_34 = t_33 * predator_4;
    const double t_35 = t_32 - t_34;
    const double t_36 = delta * prey_4;
    const double t_37 = t_36 * predator_4;
    const double t_38 = gamma * predator_4;
    const double t_39 = t_37 - t_38;
    double *const k4 = room(f, 9, sizeof(double) * (2));
    if (!k4) goto punt;
    {
        (k4 + (0) * (1))[0] = t_35;
        (k4 + (1) * (1))[0] = t_39;
    }
    double *const t_50 = room(f, 19, sizeof(double) * (2));
    if (!t_50) goto punt;
    double *const t_51 = room(f, 20, sizeof(double) * (2));
    if (!t_51) goto punt;
    double *const t_52 = room(f, 21, sizeof(double) * (2));
    if (!t_52) goto punt;
    sums_d t_49_s; t_49_s.n = 0;
    if (state_step0 == 1 && target_step0 == 1) {
        for (int64_t b = 0; b < 2; b += 512) {
            const int64_t end = b + 512 < 2 ? b + 512 : 2;
            double t_49_b = 0;
#pragma omp simd reduction(+:t_49_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = t_44[i];
                const double e1_v = k4[i];
                const double e2_v = state[i];
                const double e3_v = target[i];
                const double t_45_v = e0_v + e1_v;
                const double t_46_v = t_40 * t_45_v;
                const double end_2_v = e2_v + t_46_v;
                const double t_47_v = end_2_v - e3_v;  /* golden_functions.py:122 */
                const double t_48_v = t_47_v * t_47_v;
                t_49_b += t_48_v;
                const double t_50_v = 2.0 * t_47_v;
                t_50[i] = t_50_v;
                const double t_51_v = t_50_v * t_40;  /* golden_functions.py:121 */
                t_51[i] = t_51_v;
                const double t_52_v = t_51_v * 2.0;
                t_52[i] = t_52_v;
            }
            add_d(&t_49_s, t_49_b);
        }
    } else {
        const double *e0_r = t_44;
        const double *e1_r = k4;
        const double *e2_r = state;
        const double *e3_r = target;
        double *t_50_r = t_50;
        double *t_51_r = t_51;
        double *t_52_r = t_52;
        for (int64_t b = 0; b < 2; b += 512) {
            const int64_t end = b + 512 < 2 ? b + 512 : 2;
            double t_49_b = 0;
#pragma omp simd reduction(+:t_49_b)
            for (int64_t i = b; i < end; i++) {
                const double e0_v = e0_r[i];
                const double e1_v = e1_r[i];
                const double e2_v = e2_r[i * state_step0];
                const double e3_v = e3_r[i * target_step0];
                const double t_45_v = e0_v + e1_v;
                const double t_46_v = t_40 * t_45_v;
                const double end_2_v = e2_v + t_46_v;
                const double t_47_v = end_2_v - e3_v;  /* golden_functions.py:122 */
                const double t_48_v = t_47_v * t_47_v;
                t_49_b += t_48_v;
                const double t_50_v = 2.0 * t_47_v;
                t_50_r[i] = t_50_v;
                const double t_51_v = t_50_v * t_40;  /* golden_functions.py:121 */
                t_51_r[i] = t_51_v;
                const double t_52_v = t_51_v * 2.0;
                t_52_r[i] = t_52_v;
            }
            add_d(&t_49_s, t_49_b);
        }
    }
    const double t_49 = total_d(&t_49_s);
    if (0 < 0 || 0 >= 2) goto punt;
    const double t_53 = *(t_51 + 0 * (1));  /* golden_functions.py:112 */
    if (1 < 0 || 1 >= 2) goto punt;
    const double t_54 = *(t_51 + 1 * (1));
    const double t_55 = -t_54;
    const double t_56 = t_55 * predator_4;
    const double t_57 = t_55 * gamma;
    const double t_58 = t_54 * predator_4;
    const double t_59 = t_54 * t_36;
    const double t_60 = t_57 + t_59;
    const double t_61 = t_58 * prey_4;
    const double t_62 = t_58 * delta;
    const double t_63 = -t_53;
    const double t_64 = t_63 * predator_4;
    const double t_65 = t_63 * t_33;
    const double d_predator = t_60 + t_65;
    const double t_66 = t_64 * prey_4;
    const double t_67 = t_64 * beta;
    const double t_68 = t_62 + t_67;
    const double t_69 = t_53 * prey_4;
    const double t_70 = t_53 * alpha;
    const double d_prey = t_68 + t_70;
    double *const t_71 = room(f, 22, sizeof(double) * (2));
    if (!t_71) goto punt;
    {  /* golden_functions.py:111 */
        (t_71 + (0) * (1))[0] = d_prey;
        (t_71 + (1) * (1))[0] = d_predator;
    }
    double *const t_73 = room(f, 24, sizeof(double) * (2));
    if (!t_73) goto punt;
    double *const d_k3 = room(f, 26, sizeof(double) * (2));
    if (!d_k3) goto punt;
    {
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = t_71[i];
            const double e1_v = t_50[i];
            const double e2_v = t_52[i];
            const double t_72_v = e0_v + 0.0;
            const double t_73_v = e1_v + t_72_v;  /* golden_functions.py:120 */
            t_73[i] = t_73_v;
            const double t_74_v = t_72_v * dt;
            const double d_k3_v = e2_v + t_74_v;
            d_k3[i] = d_k3_v;
        }
    }
    if (0 < 0 || 0 >= 2) goto punt;
    const double t_75 = *(d_k3 + 0 * (1));  /* golden_functions.py:112 */
    if (1 < 0 || 1 >= 2) goto punt;
    const double t_76 = *(d_k3 + 1 * (1));
    const double t_77 = -t_76;
    const double t_78 = t_77 * predator_3;
    const double t_79 = t_77 * gamma;
    const double t_80 = t_76 * predator_3;
    const double t_81 = t_76 * t_26;
    const double t_82 = t_79 + t_81;
    const double t_83 = t_80 * prey_3;
    const double t_84 = t_80 * delta;
    const double t_85 = -t_75;
    const double t_86 = t_85 * predator_3;
    const double t_87 = t_85 * t_23;
    const double d_predator_2 = t_82 + t_87;
    const double t_88 = t_86 * prey_3;
    const double t_89 = t_86 * beta;
    const double t_90 = t_84 + t_89;
    const double t_91 = t_75 * prey_3;
    const double t_92 = t_75 * alpha;
    const double d_prey_2 = t_90 + t_92;
    const double t_94 = t_56 + t_78;  /* golden_functions.py:112 */
    const double t_95 = t_61 + t_83;
    const double t_96 = t_66 + t_88;
    const double t_97 = t_69 + t_91;
    double *const t_93 = room(f, 27, sizeof(double) * (2));
    if (!t_93) goto punt;
    {  /* golden_functions.py:111 */
        (t_93 + (0) * (1))[0] = d_prey_2;
        (t_93 + (1) * (1))[0] = d_predator_2;
    }
    double *const t_99 = room(f, 29, sizeof(double) * (2));
    if (!t_99) goto punt;
    double *const d_k2 = room(f, 31, sizeof(double) * (2));
    if (!d_k2) goto punt;
    {
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = t_93[i];
            const double e1_v = t_73[i];
            const double e2_v = t_52[i];
            const double t_98_v = e0_v + 0.0;  /* golden_functions.py:111 */
            const double t_99_v = e1_v + t_98_v;  /* golden_functions.py:119 */
            t_99[i] = t_99_v;
            const double t_100_v = t_98_v * t_9;
            const double d_k2_v = e2_v + t_100_v;
            d_k2[i] = d_k2_v;
        }
    }
    if (0 < 0 || 0 >= 2) goto punt;
    const double t_101 = *(d_k2 + 0 * (1));  /* golden_functions.py:112 */
    if (1 < 0 || 1 >= 2) goto punt;
    const double t_102 = *(d_k2 + 1 * (1));
    const double t_103 = -t_102;
    const double t_104 = t_103 * predator_2;
    const double t_105 = t_103 * gamma;
    const double t_106 = t_102 * predator_2;
    const double t_107 = t_102 * t_16;
    const double t_108 = t_105 + t_107;
    const double t_109 = t_106 * prey_2;
    const double t_110 = t_106 * delta;
    const double t_111 = -t_101;
    const double t_112 = t_111 * predator_2;
    const double t_113 = t_111 * t_13;
    const double d_predator_3 = t_108 + t_113;
    const double t_114 = t_112 * prey_2;
    const double t_115 = t_112 * beta;
    const double t_116 = t_110 + t_115;
    const double t_117 = t_101 * prey_2;
    const double t_118 = t_101 * alpha;
    const double d_prey_3 = t_116 + t_118;
    const double t_120 = t_94 + t_104;  /* golden_functions.py:112 */
    const double t_121 = t_95 + t_109;
    const double t_122 = t_96 + t_114;
    const double t_123 = t_97 + t_117;
    double *const t_119 = room(f, 32, sizeof(double) * (2));
    if (!t_119) goto punt;
    {  /* golden_functions.py:111 */
        (t_119 + (0) * (1))[0] = d_prey_3;
        (t_119 + (1) * (1))[0] = d_predator_3;
    }
    double *const t_125 = room(f, 34, sizeof(double) * (2));
    if (!t_125) goto punt;
    double *const d_k1 = room(f, 36, sizeof(double) * (2));
    if (!d_k1) goto punt;
    {
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = t_119[i];
            const double e1_v = t_99[i];
            const double e2_v = t_51[i];
            const double t_124_v = e0_v + 0.0;  /* golden_functions.py:111 */
            const double t_125_v = e1_v + t_124_v;  /* golden_functions.py:118 */
            t_125[i] = t_125_v;
            const double t_126_v = t_124_v * t_9;
            const double d_k1_v = e2_v + t_126_v;
            d_k1[i] = d_k1_v;
        }
    }
    kept->alpha = alpha;
    kept->beta = beta;
    kept->delta = delta;
    kept->gamma = gamma;
    kept->prey = prey;
    kept->predator = predator;
    kept->t_2 = t_2;
    kept->t_5 = t_5;
    kept->t_49 = t_49;
    kept->t_120 = t_120;
    kept->t_121 = t_121;
    kept->t_122 = t_122;
    kept->t_123 = t_123;
    kept->t_125 = t_125;
    kept->d_k1 = d_k1;
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
    JOIN(run, parts) all_kept, *const kept = &all_kept;
    if (JOIN(run, part_0)(st, f, a, why, kept)) return 0;
    const double alpha = kept->alpha;
    const double beta = kept->beta;
    const double delta = kept->delta;
    const double gamma = kept->gamma;
    const double prey = kept->prey;
    const double predator = kept->predator;
    const double t_2 = kept->t_2;
    const double t_5 = kept->t_5;
    const double t_49 = kept->t_49;
    const double t_120 = kept->t_120;
    const double t_121 = kept->t_121;
    const double t_122 = kept->t_122;
    const double t_123 = kept->t_123;
    double *const t_125 = kept->t_125;
    double *const d_k1 = kept->d_k1;
    if (0 < 0 || 0 >= 2) goto punt;
    const double t_127 = *(d_k1 + 0 * (1));  /* golden_functions.py:112 */
    if (1 < 0 || 1 >= 2) goto punt;
    const double t_128 = *(d_k1 + 1 * (1));
    const double t_129 = -t_128;
    const double t_130 = t_129 * predator;
    const double t_131 = t_129 * gamma;
    const double t_132 = t_128 * predator;
    const double t_133 = t_128 * t_5;
    const double t_134 = t_131 + t_133;
    const double t_135 = t_132 * prey;
    const double t_136 = t_132 * delta;
    const double t_137 = -t_127;
    const double t_138 = t_137 * predator;
    const double t_139 = t_137 * t_2;
    const double d_predator_4 = t_134 + t_139;
    const double t_140 = t_138 * prey;
    const double t_141 = t_138 * beta;
    const double t_142 = t_136 + t_141;
    const double t_143 = t_127 * prey;
    const double t_144 = t_127 * alpha;
    const double d_prey_4 = t_142 + t_144;
    const double d_gamma = t_120 + t_130;  /* golden_functions.py:112 */
    const double d_delta = t_121 + t_135;
    const double d_beta = t_122 + t_140;
    const double d_alpha = t_123 + t_143;
    double *const t_145 = room(f, 37, sizeof(double) * (2));
    if (!t_145) goto punt;
    {  /* golden_functions.py:111 */
        (t_145 + (0) * (1))[0] = d_prey_4;
        (t_145 + (1) * (1))[0] = d_predator_4;
    }
    double *const d_state = new_array(st, f, 4, D, 1, (int64_t[]){2}, 0);
    if (!d_state) goto punt;
    {
#pragma omp simd
        for (int64_t i = 0; i < 2; i++) {
            const double e0_v = t_125[i];
            const double e1_v = t_145[i];
            const double d_state_v = e0_v + e1_v;  /* golden_functions.py:111 */
            d_state[i] = d_state_v;
        }
    }
    hold(f, 5, PyTuple_New(2));
    if (!f->o[5]) goto fail;
    hold(f, 6, scalar(st, D, t_49, 0));
    if (!f->o[6]) goto fail;
    PyTuple_SetItem(f->o[5], 0, again(f->o[6]));
    hold(f, 7, PyTuple_New(2));
    if (!f->o[7]) goto fail;
    hold(f, 8, again(f->o[4]));
    if (!f->o[8]) goto fail;
    PyTuple_SetItem(f->o[7], 0, again(f->o[8]));
    hold(f, 9, PyTuple_New(4));
    if (!f->o[9]) goto fail;
    hold(f, 10, scalar(st, D, d_alpha, 0));
    if (!f->o[10]) goto fail;
    PyTuple_SetItem(f->o[9], 0, again(f->o[10]));
    hold(f, 11, scalar(st, D, d_beta, 0));
    if (!f->o[11]) goto fail;
    PyTuple_SetItem(f->o[9], 1, again(f->o[11]));
    hold(f, 12, scalar(st, D, d_delta, 0));
    if (!f->o[12]) goto fail;
    PyTuple_SetItem(f->o[9], 2, again(f->o[12]));
    hold(f, 13, scalar(st, D, d_gamma, 0));
    if (!f->o[13]) goto fail;
    PyTuple_SetItem(f->o[9], 3, again(f->o[13]));
    PyTuple_SetItem(f->o[7], 1, again(f->o[9]));
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
