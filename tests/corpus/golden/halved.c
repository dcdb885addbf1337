#define ARGUMENTS 1
#define SLOTS 0
#define OBJECTS 4
#define STACKS 2

typedef struct {
    double *d_x;
} JOIN(run, loop_of);
static __attribute__((noinline)) void JOIN(run, loop)(const void *all, int64_t k, int64_t from, int64_t to)
{
    const JOIN(run, loop_of) *const of = all;
    double *const d_x = of->d_x;
    {
#pragma omp simd
        for (int64_t i = from; i < to; i++) {
            const double d_x_v = 0.0;
            d_x[i] = d_x_v;
        }
    }
}

static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)
{
    int64_t work = 0;
    if (!is_array(st, a[0], D, 1)) goto punt;
    double *const x = (double *)ARRAY(a[0])->data;
    const int64_t x_n0 = ARRAY(a[0])->dims[0];
    const int64_t x_step0 = ARRAY(a[0])->strides[0] / (int64_t)sizeof(double);
    const int64_t t = x_n0;
    empty_stack((f->stacks + 0), 0);
    empty_stack((f->stacks + 1), 0);
    double t_3 = 0.0;
    const int64_t trips = t;
    int64_t steps = 0;
    for (; steps < trips;) {  /* golden_functions.py:276 */
        const int64_t t_2 = steps;
        if (!st->seen[0]) { if (!st->probing) goto unseen; st->seen[0] = 1; }
        const int64_t place = t_2 < 0 ? t_2 + x_n0 : t_2;
        if (place < 0 || place >= x_n0) goto punt;
        const double y = *(x + place * (x_step0));  /* golden_functions.py:277 */
        double t_6 = y;
        int64_t t_4 = 0;
        for (;;) {  /* golden_functions.py:278 */
            int more;
            {
                const uint8_t t_7 = t_6 > 1.0;  /* golden_functions.py:278 */
                more = t_7;
            }
            if (!more) break;
            const int64_t t_5 = t_4;
            if (!st->seen[1]) { if (!st->probing) goto unseen; st->seen[1] = 1; }
            const double y_2 = t_6 / 2.0;  /* golden_functions.py:279 */
            const double t_6_next = y_2;
            t_6 = t_6_next;
            t_4++;
            WORK(12);
        }
        const double t_8 = t_6 * t_6;  /* golden_functions.py:280 */
        const double total = t_3 + t_8;
        {
            double *const row_2 = new_row((f->stacks + 0), 1);
            if (!row_2) goto punt;
            *row_2 = t_6;
        }
        {
            int64_t *const row_3 = new_row((f->stacks + 1), 1);
            if (!row_3) goto punt;
            *row_3 = t_4;
        }
        const double t_3_next = total;
        t_3 = t_3_next;
        steps++;
        WORK(37);
    }
    back(f);
    double *const d_x = new_array(st, f, 0, D, 1, (int64_t[]){x_n0}, 0);
    if (!d_x) goto punt;
    const int64_t loop_n = x_n0, loop_chunk = 262144;
    WORK(x_n0);
    JOIN(run, loop_of) loop = {d_x};
    share(st, JOIN(run, loop), &loop, loop_n, loop_chunk);
    double *const d_x_2 = d_x;  /* written in place */
    const int64_t trips_3 = t;
    int64_t steps_2 = 0;
    for (; steps_2 < trips_3;) {
        const int64_t t_9 = trips_3 - 1 - steps_2;
        if (!st->seen[2]) { if (!st->probing) goto unseen; st->seen[2] = 1; }
        const double y_3 = *(double *)((f->stacks + 0)->rows + t_9);
        const int64_t t_10 = *(int64_t *)((f->stacks + 1)->rows + t_9);
        const double d_y = 2.0 * y_3;  /* golden_functions.py:280 */
        double t_13 = d_y;
        const int64_t trips_4 = t_10;
        int64_t t_11 = 0;
        for (; t_11 < trips_4;) {  /* golden_functions.py:278 */
            const int64_t t_12 = trips_4 - 1 - t_11;
            if (!st->seen[3]) { if (!st->probing) goto unseen; st->seen[3] = 1; }
            const double t_14 = t_13 / 2.0;  /* golden_functions.py:279 */
            const double t_13_next = t_14;
            t_13 = t_13_next;
            t_11++;
            WORK(6);
        }
        {  /* golden_functions.py:277 */
            const int64_t place_2 = t_9 < 0 ? t_9 + x_n0 : t_9;
            if (place_2 < 0 || place_2 >= x_n0) goto punt;
            double *const at = d_x_2 + place_2 * (1);
            at[0] += t_13;
        }
        steps_2++;
        WORK(24);
    }
    back(f);
    hold(f, 1, PyTuple_New(2));
    if (!f->o[1]) goto fail;
    hold(f, 2, scalar(st, D, t_3, 0));
    if (!f->o[2]) goto fail;
    PyTuple_SetItem(f->o[1], 0, again(f->o[2]));
    hold(f, 3, again(f->o[0]));
    if (!f->o[3]) goto fail;
    PyTuple_SetItem(f->o[1], 1, again(f->o[3]));
    PyObject *const whole = again(f->o[1]);
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
