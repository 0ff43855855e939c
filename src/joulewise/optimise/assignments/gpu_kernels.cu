// NSGA-II over assignments on a GPU: breeding, arranging, evaluating, selecting and remembering, all on the device.
//
// Rows hold chromosomes: genes [kind][row][task], points [row] = (energy in J, minus utility). `parents` and `children`
// list rows. A sequence holds the tasks of one child by machine, then by order, then by arrival. Sums are taken in a
// fixed order and random bits depend on (seed, generation, row, purpose) alone, so equal seeds give equal fronts.

typedef unsigned long long bits64;

constexpr int KINDS = 2;     // of genes: place and order
constexpr int NOWHERE = -1;  // the place of a task that is not to run

struct Task {  // one row of `tasks`
    float arrival_s, hold_ends_s, scale;
    int shape;
};

__device__ bits64 mixed(bits64 x) {  // the finisher of splitmix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

__device__ bits64 draw(bits64 seed, long long generation, int who, int purpose) {
    const bits64 counter = (bits64)generation * 0x10000000ull + (bits64)who * 8ull + purpose + 1ull;
    return mixed(seed + mixed(counter * 0x9E3779B97F4A7C15ull));
}

__device__ int high_below(bits64 bits, int n) { return (int)(((bits >> 32) * (bits64)n) >> 32); }
__device__ int low_below(bits64 bits, int n) { return (int)(((bits & 0xFFFFFFFFull) * (bits64)n) >> 32); }
__device__ double share_of(bits64 bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }

// What a child is made of: its parents, the genes it has of its father, and what mutation changes, if anything.
struct Child {
    const int *mother, *father;
    int first, last, mutated, with, place;
};

__device__ int inherited(const Child& child, int kind_at, int gene) {
    return (child.first <= gene && gene <= child.last ? child.father : child.mother)[kind_at + gene];
}

// One block per child and part of its genes: those of one parent with those between two random places of the other,
// then, by chance, one task on a random place (or, where it may be left out, nowhere) and its order swapped with that
// of another.
extern "C" __global__ void breed(bits64 seed, const long long* generation, int n_parents, int n_tasks, int n_rows,
                                 const int* parents, const int* children, double mutation, const int* task_type,
                                 const int* allowed, int n_places, const int* n_allowed, int leaves_out,
                                 int* genes) {
    const int pair = blockIdx.x / 2, is_son = blockIdx.x % 2, kind_size = n_rows * n_tasks, purpose = 2 + 3 * is_son;
    const bits64 who = draw(seed, *generation, pair, 0), where = draw(seed, *generation, pair, 1);
    const int mother_at = high_below(who, n_parents), father_at = low_below(who, n_parents - 1);
    const int* hers = genes + parents[mother_at] * n_tasks;
    const int* his = genes + parents[father_at + (father_at >= mother_at)] * n_tasks;
    const int one = high_below(where, n_tasks), other = low_below(where, n_tasks);
    Child child = {is_son ? his : hers, is_son ? hers : his, min(one, other), max(one, other), -1, -1, -1};
    if (share_of(draw(seed, *generation, pair, purpose)) < mutation) {
        const bits64 bits = draw(seed, *generation, pair, purpose + 1);
        child.mutated = high_below(bits, n_tasks);
        const int type = task_type[child.mutated], at = low_below(bits, n_allowed[type] + leaves_out);
        child.place = at < n_allowed[type] ? allowed[type * n_places + at] : NOWHERE;
        child.with = low_below(draw(seed, *generation, pair, purpose + 2), n_tasks);
    }
    const int gene = blockIdx.y * blockDim.x + threadIdx.x;
    if (gene >= n_tasks) return;
    int* to = genes + children[blockIdx.x] * n_tasks;
    to[gene] = gene == child.mutated ? child.place : inherited(child, 0, gene);
    const int like = gene == child.mutated ? child.with : gene == child.with ? child.mutated : gene;
    to[kind_size + gene] = inherited(child, kind_size, like);
}

// Keys in ascending order: a bitonic sort of a power of two of them by all threads of the block.
__device__ void sort(bits64* key, int n_keys) {
    for (int size = 2; size <= n_keys; size *= 2)
        for (int stride = size / 2; stride; stride /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < n_keys / 2; i += blockDim.x) {
                const int low = 2 * i - (i & (stride - 1)), high = low + stride;
                const bits64 one = key[low], other = key[high];
                if ((one > other) == ((low & size) == 0)) key[low] = other, key[high] = one;
            }
        }
    __syncthreads();
}

constexpr int ORDER_BITS = 24;  // of a key, for the order of a task and for its number; above them is its machine
constexpr bits64 LAST = ~0ull;  // the key of no task
__device__ int task_of(bits64 key) { return (int)(key & ((1ull << ORDER_BITS) - 1)); }
__device__ int machine_of(bits64 key, int n_machines) {
    return (int)min(key >> (2 * ORDER_BITS), (bits64)n_machines);
}

// One block per child: its tasks by machine, then by order, then by arrival, as (task, row of the tables of chances).
// It sorts in `keys`, or without them in its shared memory; `n_keys` is a power of two that is n_tasks or more.
extern "C" __global__ void arrange(int n_tasks, int n_keys, int n_rows, int n_machines, int n_choices, const int* rows,
                                   const int* genes, const int* task_type, const int* machine, const int* choice,
                                   bits64* keys, int* first, int2* sequence) {
    extern __shared__ bits64 own[];
    const int* place = genes + rows[blockIdx.x] * n_tasks;
    const int* order = place + n_rows * n_tasks;
    int* begins = first + blockIdx.x * (n_machines + 1);
    bits64* key = keys ? keys + (size_t)blockIdx.x * n_keys : own;
    int2* out = sequence + (size_t)blockIdx.x * n_tasks;
    for (int i = threadIdx.x; i < n_keys; i += blockDim.x) {
        const bool runs = i < n_tasks && place[i] >= 0;
        key[i] = runs ? ((((bits64)machine[place[i]] << ORDER_BITS) | order[i]) << ORDER_BITS) | i : LAST;
    }
    sort(key, n_keys);
    for (int at = threadIdx.x; at <= n_keys; at += blockDim.x) {
        const int before = at ? machine_of(key[at - 1], n_machines) : -1;
        const int here = at < n_keys ? machine_of(key[at], n_machines) : n_machines;
        for (int k = before + 1; k <= here; k++) begins[k] = at;
        if (at == n_keys || key[at] == LAST) continue;
        const int i = task_of(key[at]);
        out[at] = make_int2(i, task_type[i] * n_choices + choice[place[i]]);
    }
}

// A segment is two float4: (start, level, span, rate) and (slope, floor, 0, 0); the second is read only where some
// segment has a slope.
__device__ float segment_value(const float4* segments, int j, float x_s, int has_slopes) {
    const float4 head = segments[2 * j];
    const float dx_s = x_s - head.x, value = head.y + head.z * __expf(-head.w * dx_s);
    if (!has_slopes) return value;
    const float4 tail = segments[2 * j + 1];
    return fmaxf(value + tail.x * dx_s, tail.y);
}

__device__ float utility_of(const Task& task, const int* first_segment, const float4* segments, int has_slopes,
                            float end_s) {
    const float x_s = fmaxf(end_s - task.hold_ends_s, 0.0f);
    const int last = first_segment[task.shape + 1] - 1;
    int j = first_segment[task.shape];
    while (j < last && x_s >= segments[2 * j + 2].x) j++;
    return task.scale * segment_value(segments, j, x_s, has_slopes);
}

template <int EACH>
struct Drawn {  // what a run takes in the samples of one thread, four at most: their points are one word
    float exec_s[EACH], energy_j[EACH];
};

__device__ uint2 points_of(int2 run, int n_stored, int sample, const unsigned char* time_point,
                           const unsigned char* power_point) {
    const size_t at = (size_t)run.x * n_stored + sample;
    return make_uint2(*(const unsigned*)(time_point + at), *(const unsigned*)(power_point + at));
}

template <int EACH>
__device__ Drawn<EACH> drawn(int2 run, uint2 points, int n_points, const float* time_s, const float* power_w) {
    const float *times = time_s + run.y * n_points, *powers = power_w + run.y * n_points;
    Drawn<EACH> found;
#pragma unroll
    for (int s = 0; s < EACH; s++) {
        found.exec_s[s] = times[(points.x >> (8 * s)) & 255];
        found.energy_j[s] = found.exec_s[s] * powers[(points.y >> (8 * s)) & 255];
    }
    return found;
}

// `n_lanes` threads per machine and child, EACH samples per thread: the machine's tasks one after the other.
template <int EACH>
__global__ void evaluate(int n_lanes, int n_tasks, int n_machines, int n_stored, int n_points, const int* first,
                         const int2* sequence, const Task* tasks, const int* first_segment, const float4* segments,
                         int has_slopes, const float* time_s, const float* power_w, const unsigned char* time_point,
                         const unsigned char* power_point, float drop_below, float* utility, float* energy_j) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, k = thread / n_lanes, child = blockIdx.y;
    const int sample = (blockIdx.z * n_lanes + thread % n_lanes) * EACH;
    if (k >= n_machines || sample >= n_stored) return;
    const int* begins = first + child * (n_machines + 1) + k;
    const int2* mine = sequence + (size_t)child * n_tasks;
    const int begin = begins[0], end = begins[1];
    float free_s[EACH] = {}, earned[EACH] = {}, used_j[EACH] = {};
    if (begin < end) {  // what a task needs is read one to three tasks ahead of its turn
        int2 run = mine[begin], next = mine[min(begin + 1, end - 1)], after = mine[min(begin + 2, end - 1)];
        uint2 points = points_of(run, n_stored, sample, time_point, power_point);
        Drawn<EACH> now = drawn<EACH>(run, points, n_points, time_s, power_w);
        points = points_of(next, n_stored, sample, time_point, power_point);
        float4 row = *(const float4*)(tasks + run.x);
        for (int at = begin; at < end; at++) {
            const Drawn<EACH> then = drawn<EACH>(next, points, n_points, time_s, power_w);
            const float4 row_then = *(const float4*)(tasks + next.x);
            points = points_of(after, n_stored, sample, time_point, power_point);
            next = after;
            after = mine[min(at + 3, end - 1)];
            const int shape = __float_as_int(row.w), head = first_segment[shape], last = first_segment[shape + 1] - 1;
            float end_s[EACH], x_s[EACH];
            int j[EACH];
#pragma unroll
            for (int s = 0; s < EACH; s++) {
                end_s[s] = fmaxf(free_s[s], row.x) + now.exec_s[s];
                x_s[s] = fmaxf(end_s[s] - row.y, 0.0f);
                j[s] = head;
            }
            for (int later = head + 1; later <= last; later++) {
                const float start_s = segments[2 * later].x;
#pragma unroll
                for (int s = 0; s < EACH; s++) j[s] += x_s[s] >= start_s;
            }
#pragma unroll
            for (int s = 0; s < EACH; s++) {
                const float worth = row.z * segment_value(segments, j[s], x_s[s], has_slopes);
                if (worth >= drop_below) {
                    free_s[s] = end_s[s];
                    earned[s] += worth;
                    used_j[s] += now.energy_j[s];
                }
            }
            now = then;
            row = row_then;
        }
    }
    const size_t to = ((size_t)child * n_machines + k) * n_stored + sample;
#pragma unroll
    for (int s = 0; s < EACH; s++) utility[to + s] = earned[s], energy_j[to + s] = used_j[s];
}

__device__ float mean_over_samples(float value, int n_samples, float* room) {
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < (blockDim.x + 31) / 32; warp++) sum += room[warp];
    return sum / n_samples;
}

// As `evaluate`, but what is dropped goes by the mean completion of all samples, which one block holds. Given mean
// energies, what a task earns is that at its mean completion too, and it takes its mean energy in every sample.
extern "C" __global__ void evaluate_by_mean(int n_samples, int n_tasks, int n_machines, int n_stored, int n_points,
                                            const int* first, const int2* sequence, const Task* tasks,
                                            const int* first_segment, const float4* segments, int has_slopes,
                                            const float* time_s, const float* power_w, const unsigned char* time_point,
                                            const unsigned char* power_point, float drop_below,
                                            const float* mean_energy_j, float* utility, float* energy_j) {
    __shared__ float room[32];
    const int k = blockIdx.x, child = blockIdx.y, sample = threadIdx.x;
    const bool counts = sample < n_samples;
    const int* begins = first + child * (n_machines + 1) + k;
    const int2* mine = sequence + (size_t)child * n_tasks;
    float free_s = 0.0f, earned = 0.0f, used_j = 0.0f;
    for (int at = begins[0]; at < begins[1]; at++) {
        const int2 run = mine[at];
        const size_t of_sample = (size_t)run.x * n_stored + (counts ? sample : 0);
        const float exec_s = time_s[run.y * n_points + time_point[of_sample]];
        const float draws_w = power_w[run.y * n_points + power_point[of_sample]];
        const Task task = tasks[run.x];
        const float end_s = fmaxf(free_s, task.arrival_s) + exec_s;
        const float mean_s = mean_over_samples(counts ? end_s : 0.0f, n_samples, room);
        const float worth = utility_of(task, first_segment, segments, has_slopes, mean_s);
        if (worth >= drop_below) {
            free_s = end_s;
            earned += mean_energy_j ? worth : utility_of(task, first_segment, segments, has_slopes, end_s);
            used_j += mean_energy_j ? mean_energy_j[run.y] : exec_s * draws_w;
        }
    }
    if (!counts) return;
    const size_t to = ((size_t)child * n_machines + k) * n_stored + sample;
    utility[to] = earned;
    energy_j[to] = used_j;
}

// One block per child: totals over machines by sample; then their means, or the values of the given ranks (from 1).
extern "C" __global__ void judge(int n_machines, int n_samples, int n_stored, const int* rows, const float* utility,
                                 const float* energy_j, int utility_rank, int energy_rank, double* totals,
                                 double2* points) {
    __shared__ double sums[2];
    const int child = blockIdx.x;
    double* earned = totals + (size_t)child * 2 * n_samples;
    double* used_j = earned + n_samples;
    for (int sample = threadIdx.x; sample < n_samples; sample += blockDim.x) {
        double u = 0.0, e = 0.0;
        for (int k = 0; k < n_machines; k++) {
            const size_t from = ((size_t)child * n_machines + k) * n_stored + sample;
            u += utility[from];
            e += energy_j[from];
        }
        earned[sample] = u;
        used_j[sample] = e;
    }
    __syncthreads();
    if (utility_rank == 0) {
        if (threadIdx.x < 2) {
            double sum = 0.0;
            for (int sample = 0; sample < n_samples; sample++) sum += (threadIdx.x ? used_j : earned)[sample];
            sums[threadIdx.x] = sum / n_samples;
        }
    } else {
        for (int sample = threadIdx.x; sample < n_samples; sample += blockDim.x) {
            int above = 0, below = 0;
            for (int other = 0; other < n_samples; other++) {
                above += earned[other] > earned[sample] || (earned[other] == earned[sample] && other < sample);
                below += used_j[other] < used_j[sample] || (used_j[other] == used_j[sample] && other < sample);
            }
            if (above == utility_rank - 1) sums[0] = earned[sample];
            if (below == energy_rank - 1) sums[1] = used_j[sample];
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) points[rows[child]] = make_double2(sums[1], -sums[0]);
}

__device__ bool dominates(double2 a, double2 b) { return a.x <= b.x && a.y <= b.y && (a.x < b.x || a.y < b.y); }
__device__ bool goes_before(double2 a, int i, double2 b, int j) {
    if (a.x != b.x) return a.x < b.x;
    return a.y != b.y ? a.y < b.y : i < j;
}

// How many threads before this one in the block have the flag, and (in `total`) how many have it at all.
__device__ int count_before(bool flag, int* room, int* total) {
    const unsigned votes = __ballot_sync(0xFFFFFFFFu, flag);
    const int warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[warp] = __popc(votes);
    __syncthreads();
    int before = __popc(votes & ((1u << (threadIdx.x % 32)) - 1u)), all = 0;
    for (int other = 0; other < n_warps; other++) {
        if (other < warp) before += room[other];
        all += room[other];
    }
    *total = all;
    return before;
}

// The least of the values of all threads before this one in the block, `none` for the first.
__device__ int least_before(int value, int none, int* room) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int least = value;
    for (int step = 1; step < 32; step *= 2) {
        const int left = __shfl_up_sync(0xFFFFFFFFu, least, step);
        if (lane >= step) least = min(least, left);
    }
    __syncthreads();
    if (lane == 31) room[warp] = least;
    least = __shfl_up_sync(0xFFFFFFFFu, least, 1);
    if (lane == 0) least = none;
    __syncthreads();
    for (int other = 0; other < warp; other++) least = min(least, room[other]);
    return least;
}

// How far apart the neighbours of a member are in one objective, as a share of the range of all; infinite at the ends.
__device__ double apart(const double* value, const int* listed, int n, int at) {
    if (at == 0 || at == n - 1) return __longlong_as_double(0x7FF0000000000000ll);
    const double reach = value[listed[n - 1]] - value[listed[0]];
    return reach > 0.0 ? (value[listed[at + 1]] - value[listed[at - 1]]) / reach : 0.0;
}

// One block, a thread for each row: the best rows become the next parents, the others the next children, both by first
// objective, then second, then row. Ranks are fronts taken off one by one, or numbers of dominators; of the last rank
// that enters, those farthest from their neighbours. Everything in shared memory is by place in that order.
__device__ void select(int n_rows, int n_kept, int by_dominators, const double2* points, int* parents, int* children,
                       long long* generation) {
    extern __shared__ double2 shared[];
    __shared__ int room[32];
    double *energy = (double*)(shared + n_rows), *loss = energy + n_rows, *crowd = loss + n_rows;
    int *row = (int*)(crowd + n_rows), *key = row + n_rows, *member = key + n_rows, *by_second = member + n_rows;
    const int at = threadIdx.x;
    const bool is_row = at < n_rows;
    if (is_row) shared[at] = points[at];
    __syncthreads();
    if (is_row) {
        const double2 mine = shared[at];
        int place = 0, lower = 0, left = 0;  // how many go before, have less loss, have less energy
        for (int other = 0; other < n_rows; other++) {
            const double2 theirs = shared[other];
            place += goes_before(theirs, other, mine, at);
            lower += theirs.y < mine.y;
            left += theirs.x < mine.x;
        }
        row[place] = at;
        energy[place] = mine.x;
        loss[place] = mine.y;
        key[place] = lower * n_rows + left;  // of two rows, the later one is dominated iff its key is higher
    }
    __syncthreads();
    const int mine = is_row ? key[at] : 0x7FFFFFFF;
    int n_dominators = 0;
    for (int other = 0; by_dominators && other < at && is_row; other++) n_dominators += key[other] < mine;
    int rank = n_rows, n_ranked = 0, n_members = 0, front = 0, n_before = 0;
    for (; n_ranked < n_kept; front++) {
        const int least = least_before(rank == n_rows ? mine : 0x7FFFFFFF, 0x7FFFFFFF, room);
        const bool is_in = is_row && rank == n_rows && (by_dominators ? n_dominators == front : mine <= least);
        n_before = count_before(is_in, room, &n_members);
        if (is_in) rank = front;
        n_ranked += n_members;
    }
    const int n_room = n_kept - (n_ranked - n_members);
    const bool is_last = rank == front - 1;
    if (is_last) member[n_before] = at;
    __syncthreads();
    if (n_room < n_members) {
        int place = 0;
        for (int other = 0; other < n_members && is_last; other++)
            place += key[member[other]] < mine || (key[member[other]] == mine && other < n_before);
        if (is_last) by_second[place] = at;
        __syncthreads();
        if (is_last)
            crowd[n_before] = apart(energy, member, n_members, n_before) + apart(loss, by_second, n_members, place);
        __syncthreads();
        int n_ahead = 0;
        for (int other = 0; other < n_members && is_last; other++)
            n_ahead += crowd[other] > crowd[n_before] || (crowd[other] == crowd[n_before] && other < n_before);
        if (is_last && n_ahead >= n_room) rank = n_rows;
    }
    int n_parents;
    const int before = count_before(is_row && rank < n_rows, room, &n_parents);
    if (is_row) (rank < n_rows ? parents + before : children + at - before)[0] = row[at];
    if (at == 0) (*generation)++;
}

// One block per row: whether it would enter the archive: nothing in there and no other row dominates or equals it.
extern "C" __global__ void compare(int n, int room, const int* rows, const double2* points, const double2* kept,
                                   const int* alive, int* enters) {
    const double2 mine = points[rows[blockIdx.x]];
    bool is_out = false;
    for (int at = threadIdx.x; at < room && !is_out; at += blockDim.x)
        is_out = alive[at] && kept[at].x <= mine.x && kept[at].y <= mine.y;
    for (int other = threadIdx.x; other < n && !is_out; other += blockDim.x) {
        const double2 theirs = points[rows[other]];
        const bool is_equal = theirs.x == mine.x && theirs.y == mine.y;
        is_out = dominates(theirs, mine) || (is_equal && other < blockIdx.x);
    }
    const int n_out = __syncthreads_count(is_out);
    if (threadIdx.x == 0) enters[blockIdx.x] = n_out == 0;
}

// One block: the rows that enter the archive get slots, and what they dominate leaves it. `slot[i]` is -1 for those
// that do not enter, `alive` tells which slots hold a point, `size` how many do. There must be as many free slots as
// rows; they are filled from the front, so that equal runs fill equal slots.
__device__ void remember(int n, int room, const int* rows, const double2* points, const int* enters, double2* kept,
                         int* alive, int* slot, int* free_slot, int* size) {
    extern __shared__ double2 fresh[];
    __shared__ int n_before[32];
    int n_new = 0, n_alive = 0, n_free = 0, n_here;
    for (int from = 0; from < n; from += blockDim.x) {
        const int i = from + threadIdx.x;
        const bool is_new = i < n && enters[i];
        const int at = n_new + count_before(is_new, n_before, &n_here);
        if (i < n) slot[i] = is_new ? at : -1;
        if (is_new) fresh[at] = points[rows[i]];
        n_new += n_here;
    }
    __syncthreads();
    if (n_new == 0) return;
    for (int from = 0; from < room; from += blockDim.x) {
        const int at = from + threadIdx.x;
        bool is_alive = at < room && alive[at];
        if (is_alive) {
            const double2 mine = kept[at];
            for (int i = 0; i < n_new && is_alive; i++) is_alive = !dominates(fresh[i], mine);
            alive[at] = is_alive;
        }
        const int before = n_free + count_before(at < room && !is_alive, n_before, &n_here);
        if (at < room && !is_alive && before < n_new) free_slot[before] = at;
        n_free += n_here;
        count_before(is_alive, n_before, &n_here);
        n_alive += n_here;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (slot[i] < 0) continue;
        const double2 mine = fresh[slot[i]];
        slot[i] = free_slot[slot[i]];
        alive[slot[i]] = 1;
        kept[slot[i]] = mine;
    }
    if (threadIdx.x == 0) *size = n_alive + n_new;
}

// Up to two parts, a block each: 0 remembers the rows in the archive, 1 selects the next parents of all rows.
extern "C" __global__ void settle(int first_part, int n, int room, const int* rows, const double2* points,
                                  const int* enters, double2* kept, int* alive, int* slot, int* free_slot, int* size,
                                  int by_dominators, int* next_parents, int* next_children, long long* generation) {
    if (first_part + blockIdx.x == 0) remember(n, room, rows, points, enters, kept, alive, slot, free_slot, size);
    else select(2 * n, n, by_dominators, points, next_parents, next_children, generation);
}

// One block per row: copy the genes of those that entered the archive.
extern "C" __global__ void store(int n_tasks, int n_rows, int room, const int* rows, const int* genes, const int* slot,
                                 int* archive) {
    const int to = slot[blockIdx.x], from = rows[blockIdx.x];
    if (to < 0) return;
    for (int kind = 0; kind < KINDS; kind++)
        for (int gene = threadIdx.x; gene < n_tasks; gene += blockDim.x)
            archive[((size_t)kind * room + to) * n_tasks + gene] =
                genes[((size_t)kind * n_rows + from) * n_tasks + gene];
}
