// Assignments on a GPU: tasks arranged by machine, and what they earn and use.
//
// Genes are [kind][row][task]: place and order; points [row] = (energy in J, minus utility). A sequence holds the tasks of
// one child by machine, then by order, then by arrival. Sums are taken in a fixed order.

typedef unsigned long long bits64;

struct Task {  // one row of `tasks`
    float arrival_s, hold_ends_s, scale;
    int shape;
};

constexpr int HELD = 4, OF_WARP = 32 * HELD;  // keys in the registers of a thread and of its warp
__device__ void put_in_order(bits64& one, bits64& other, bool ascending) {
    const bits64 less = min(one, other), more = max(one, other);
    one = ascending ? less : more, other = ascending ? more : less;
}

// The steps of a bitonic sort, from this stride down, among the keys that a warp holds; `at` is the place of the first
// that this thread holds.
__device__ void merge(bits64 (&held)[HELD], int at, int size, int stride) {
    const bool ascending = (at & size) == 0;
    for (; stride >= HELD; stride /= 2) {
        const bool takes_less = ((at & stride) == 0) == ascending;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const bits64 other = __shfl_xor_sync(0xFFFFFFFFu, held[i], stride / HELD);
            held[i] = takes_less ? min(held[i], other) : max(held[i], other);
        }
    }
    if (stride == 2) put_in_order(held[0], held[2], ascending), put_in_order(held[1], held[3], ascending);
    put_in_order(held[0], held[1], ascending), put_in_order(held[2], held[3], size == 2 ? !ascending : ascending);
}

// All steps that stay within the keys of a warp, for sizes up to `largest`, by warps that each take such keys in turn.
__device__ void merge_within_warps(bits64* key, int n_keys, int smallest, int largest) {
    __syncthreads();
    for (int at = threadIdx.x * HELD; at < n_keys; at += blockDim.x * HELD) {
        bits64 held[HELD];
#pragma unroll
        for (int i = 0; i < HELD; i++) held[i] = key[at + i];
        for (int size = smallest; size <= largest; size *= 2) merge(held, at, size, min(size, OF_WARP) / 2);
#pragma unroll
        for (int i = 0; i < HELD; i++) key[at + i] = held[i];
    }
    __syncthreads();
}

// Keys in ascending order: a bitonic sort by all threads of the block, in registers where it can be. The number of keys
// is a power of two, and all that warps hold at least.
__device__ void sort(bits64* key, int n_keys) {
    merge_within_warps(key, n_keys, 2, OF_WARP);
    for (int size = 2 * OF_WARP; size <= n_keys; size *= 2) {
        for (int stride = size / 2; stride >= OF_WARP; stride /= 2) {
            for (int i = threadIdx.x; i < n_keys / 2; i += blockDim.x) {
                const int low = 2 * i - (i & (stride - 1));
                put_in_order(key[low], key[low + stride], (low & size) == 0);
            }
            __syncthreads();
        }
        merge_within_warps(key, n_keys, size, size);
    }
}

constexpr int ORDER_BITS = 24;  // of a key, for the order of a task and for its number; above them is its machine
constexpr bits64 LAST = ~0ull;  // the key of no task
__device__ int task_of(bits64 key) { return (int)(key & ((1ull << ORDER_BITS) - 1)); }
__device__ int machine_of(bits64 key, int n_machines) {
    return (int)min(key >> (2 * ORDER_BITS), (bits64)n_machines);
}

// One block per child: its tasks by machine, then by order, then by arrival, as (task, row of the tables of chances).
// It sorts in `keys`, or without them in its shared memory; `n_keys` is a power of two, n_tasks and OF_WARP at least.
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
