// NSGA-II over assignments on a GPU: breeding, arranging, evaluating, selecting and remembering, all on the device.
//
// Rows hold chromosomes: genes [kind][row][task], points [row] = (energy in J, minus utility). `parents` and `children`
// list rows. A sequence holds the tasks of one child by machine, then by order, then by arrival. Sums are taken in a
// fixed order and random bits depend on (seed, generation, row, purpose) alone, so equal seeds give equal fronts.
// Compiled with KINDS, N_POINTS and N_SEGMENT_COLUMNS defined.

typedef unsigned long long bits64;

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

// One block per pair of children: the genes between two random places swapped, then each child mutated by chance.
extern "C" __global__ void breed(bits64 seed, const long long* generation, int n_parents, int n_tasks, int n_rows,
                                 const int* parents, const int* children, double mutation, const int* task_type,
                                 const int* allowed, int n_places, const int* n_allowed, int* genes) {
    const int pair = blockIdx.x, kind_size = n_rows * n_tasks;
    const bits64 who = draw(seed, *generation, pair, 0), where = draw(seed, *generation, pair, 1);
    const int mother_at = high_below(who, n_parents), father_at = low_below(who, n_parents - 1);
    const int mother = parents[mother_at], father = parents[father_at + (father_at >= mother_at)];
    const int one = high_below(where, n_tasks), other = low_below(where, n_tasks);
    const int first = min(one, other), last = max(one, other);
    const int daughter = children[2 * pair], son = children[2 * pair + 1];
    for (int kind = 0; kind < KINDS; kind++) {
        const int* hers = genes + kind * kind_size + mother * n_tasks;
        const int* his = genes + kind * kind_size + father * n_tasks;
        int* to_her = genes + kind * kind_size + daughter * n_tasks;
        int* to_him = genes + kind * kind_size + son * n_tasks;
        for (int gene = threadIdx.x; gene < n_tasks; gene += blockDim.x) {
            const bool swaps = first <= gene && gene <= last;
            to_her[gene] = swaps ? his[gene] : hers[gene];
            to_him[gene] = swaps ? hers[gene] : his[gene];
        }
    }
    __syncthreads();
    if (threadIdx.x >= 2) return;
    const int child = threadIdx.x ? son : daughter, purpose = 2 + 3 * threadIdx.x;
    if (share_of(draw(seed, *generation, pair, purpose)) >= mutation) return;
    const bits64 bits = draw(seed, *generation, pair, purpose + 1);
    const int gene = high_below(bits, n_tasks), type = task_type[gene];
    genes[child * n_tasks + gene] = allowed[type * n_places + low_below(bits, n_allowed[type])];
    int* order = genes + kind_size + child * n_tasks;
    const int with = low_below(draw(seed, *generation, pair, purpose + 2), n_tasks), before = order[gene];
    order[gene] = order[with];
    order[with] = before;
}

// One block per child: its tasks by machine, then by order, then by arrival, as (task, row of the tables of chances).
extern "C" __global__ void arrange(int n_tasks, int n_rows, int n_machines, int n_choices, const int* rows,
                                   const int* genes, const int* task_type, const int* machine, const int* choice,
                                   bits64* keys, int* first, int2* sequence) {
    extern __shared__ int cursor[];
    const int* place = genes + rows[blockIdx.x] * n_tasks;
    const int* order = place + n_rows * n_tasks;
    int* begins = first + blockIdx.x * (n_machines + 1);
    bits64* key = keys + (size_t)blockIdx.x * n_tasks;
    int2* out = sequence + (size_t)blockIdx.x * n_tasks;
    for (int k = threadIdx.x; k <= n_machines; k += blockDim.x) cursor[k] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n_tasks; i += blockDim.x)
        if (place[i] >= 0) atomicAdd(&cursor[machine[place[i]] + 1], 1);
    __syncthreads();
    if (threadIdx.x < 32) {  // the first warp adds up
        int before = 0;
        for (int from = 0; from <= n_machines; from += 32) {
            const int k = from + threadIdx.x;
            int sum = k <= n_machines ? cursor[k] : 0;
            for (int step = 1; step < 32; step *= 2) {
                const int left = __shfl_up_sync(0xFFFFFFFFu, sum, step);
                if (threadIdx.x >= step) sum += left;
            }
            if (k <= n_machines) cursor[k] = begins[k] = before + sum;
            before += __shfl_sync(0xFFFFFFFFu, sum, 31);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_tasks; i += blockDim.x)
        if (place[i] >= 0) key[atomicAdd(&cursor[machine[place[i]]], 1)] = ((bits64)order[i] << 32) | (unsigned)i;
    __syncthreads();
    for (int at = threadIdx.x; at < begins[n_machines]; at += blockDim.x) {
        const bits64 mine = key[at];
        const int i = (int)(mine & 0xFFFFFFFFull), k = machine[place[i]], end = begins[k + 1];
        int to = begins[k];
        for (int other = begins[k]; other < end; other++) to += key[other] < mine;
        out[to] = make_int2(i, task_type[i] * n_choices + choice[place[i]]);
    }
}

// Columns of a segment: start, level, span, rate, slope, floor.
__device__ float shape_value(const int* first_segment, const float* segments, int shape, float x_s) {
    int j = first_segment[shape];
    const int last = first_segment[shape + 1] - 1;
    const float* segment = segments + j * N_SEGMENT_COLUMNS;
    if (x_s <= 0.0f) return segment[1] + segment[2];
    while (j < last && x_s >= segments[(j + 1) * N_SEGMENT_COLUMNS]) j++;
    segment = segments + j * N_SEGMENT_COLUMNS;
    const float dx_s = x_s - segment[0];
    return fmaxf(segment[1] + segment[2] * __expf(-segment[3] * dx_s) + segment[4] * dx_s, segment[5]);
}

__device__ float utility_of(const Task& task, const int* first_segment, const float* segments, float end_s) {
    return task.scale * shape_value(first_segment, segments, task.shape, end_s - task.hold_ends_s);
}

// One block per machine, child and group of samples: the machine's tasks one after the other, a sample per thread.
extern "C" __global__ void evaluate(int n_tasks, int n_machines, int n_samples, int n_stored, const int* first,
                                    const int2* sequence, const Task* tasks, const int* first_segment, const float* segments,
                                    const float* time_s, const float* power_w, const unsigned char* time_point,
                                    const unsigned char* power_point, float drop_below, float* utility,
                                    float* energy_j) {
    const int k = blockIdx.x, child = blockIdx.y, sample = blockIdx.z * blockDim.x + threadIdx.x;
    if (sample >= n_samples) return;
    const int* begins = first + child * (n_machines + 1) + k;
    const int2* mine = sequence + (size_t)child * n_tasks;
    float free_s = 0.0f, earned = 0.0f, used_j = 0.0f;
    for (int at = begins[0]; at < begins[1]; at++) {
        const int2 run = mine[at];
        const float exec_s = time_s[run.y * N_POINTS + time_point[run.x * n_stored + sample]];
        const float draws_w = power_w[run.y * N_POINTS + power_point[run.x * n_stored + sample]];
        const Task task = tasks[run.x];
        const float end_s = fmaxf(free_s, task.arrival_s) + exec_s;
        const float worth = utility_of(task, first_segment, segments, end_s);
        if (worth >= drop_below) {
            free_s = end_s;
            earned += worth;
            used_j += exec_s * draws_w;
        }
    }
    const size_t to = ((size_t)child * n_machines + k) * n_samples + sample;
    utility[to] = earned;
    energy_j[to] = used_j;
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
extern "C" __global__ void evaluate_by_mean(int n_tasks, int n_machines, int n_samples, int n_stored, const int* first,
                                            const int2* sequence, const Task* tasks, const int* first_segment,
                                            const float* segments, const float* time_s, const float* power_w,
                                            const unsigned char* time_point, const unsigned char* power_point,
                                            float drop_below, const float* mean_energy_j, float* utility,
                                            float* energy_j) {
    __shared__ float room[32];
    const int k = blockIdx.x, child = blockIdx.y, sample = threadIdx.x;
    const bool counts = sample < n_samples;
    const int* begins = first + child * (n_machines + 1) + k;
    const int2* mine = sequence + (size_t)child * n_tasks;
    float free_s = 0.0f, earned = 0.0f, used_j = 0.0f;
    for (int at = begins[0]; at < begins[1]; at++) {
        const int2 run = mine[at];
        const int of_sample = run.x * n_stored + (counts ? sample : 0);
        const float exec_s = time_s[run.y * N_POINTS + time_point[of_sample]];
        const float draws_w = power_w[run.y * N_POINTS + power_point[of_sample]];
        const Task task = tasks[run.x];
        const float end_s = fmaxf(free_s, task.arrival_s) + exec_s;
        const float mean_s = mean_over_samples(counts ? end_s : 0.0f, n_samples, room);
        const float worth = utility_of(task, first_segment, segments, mean_s);
        if (worth >= drop_below) {
            free_s = end_s;
            earned += mean_energy_j ? worth : utility_of(task, first_segment, segments, end_s);
            used_j += mean_energy_j ? mean_energy_j[run.y] : exec_s * draws_w;
        }
    }
    if (!counts) return;
    const size_t to = ((size_t)child * n_machines + k) * n_samples + sample;
    utility[to] = earned;
    energy_j[to] = used_j;
}

// One block per child: totals over machines by sample; then their means, or the values of the given ranks (from 1).
extern "C" __global__ void judge(int n_machines, int n_samples, const int* rows, const float* utility,
                                 const float* energy_j, int utility_rank, int energy_rank, double* totals,
                                 double2* points) {
    __shared__ double sums[2];
    const int child = blockIdx.x;
    double* earned = totals + (size_t)child * 2 * n_samples;
    double* used_j = earned + n_samples;
    for (int sample = threadIdx.x; sample < n_samples; sample += blockDim.x) {
        double u = 0.0, e = 0.0;
        for (int k = 0; k < n_machines; k++) {
            const size_t from = ((size_t)child * n_machines + k) * n_samples + sample;
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
__device__ bool goes_before_by_second(double2 a, int i, double2 b, int j) {
    if (a.y != b.y) return a.y < b.y;
    return a.x != b.x ? a.x < b.x : i < j;
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

// The distance between both neighbours of a member of one rank in the second objective, 1e300 at the ends.
__device__ double apart_by_second(const double2* point, const int* member, int n, int at) {
    const double2 mine = point[member[at]];
    int next = -1, previous = -1;
    double least = mine.y, most = mine.y;
    for (int other = 0; other < n; other++) {
        const double2 theirs = point[member[other]];
        least = fmin(least, theirs.y);
        most = fmax(most, theirs.y);
        if (other == at) continue;
        if (goes_before_by_second(theirs, other, mine, at)) {
            if (previous < 0 || goes_before_by_second(point[member[previous]], previous, theirs, other))
                previous = other;
        } else if (next < 0 || goes_before_by_second(theirs, other, point[member[next]], next)) {
            next = other;
        }
    }
    if (previous < 0 || next < 0) return 1e300;
    return most > least ? (point[member[next]].y - point[member[previous]].y) / (most - least) : 0.0;
}

// One block: the best rows become the parents, the others the children, both by first objective, then second, then
// row. Ranks are fronts taken off one by one, or numbers of dominators; of the last rank that enters, those farthest
// from their neighbours. Everything in shared memory is by place in that order.
extern "C" __global__ void select(int n_rows, int n_kept, int by_dominators, const double2* points, int* parents,
                                  int* children, long long* generation) {
    extern __shared__ double2 point[];
    double* crowd = (double*)(point + n_rows);
    int *row = (int*)(crowd + n_rows), *rank = row + n_rows, *dominators = rank + n_rows, *member = dominators + n_rows;
    __shared__ int n_before[32];
    for (int mine = threadIdx.x; mine < n_rows; mine += blockDim.x) {
        int at = 0;
        for (int other = 0; other < n_rows; other++) at += goes_before(points[other], other, points[mine], mine);
        row[at] = mine;
        point[at] = points[mine];
        rank[at] = n_rows;
    }
    __syncthreads();
    for (int at = threadIdx.x; by_dominators && at < n_rows; at += blockDim.x) {
        int n = 0;
        for (int earlier = 0; earlier < at; earlier++) n += dominates(point[earlier], point[at]);
        dominators[at] = n;
    }
    int n_ranked = 0, n_members = 0, front = 0;
    for (; n_ranked < n_kept; front++) {
        n_members = 0;
        for (int from = 0; from < n_rows; from += blockDim.x) {
            const int at = from + threadIdx.x;
            bool is_in = at < n_rows && rank[at] >= n_rows;  // not in an earlier front
            if (is_in && by_dominators) is_in = dominators[at] == front;
            for (int earlier = 0; is_in && !by_dominators && earlier < at; earlier++)
                is_in = rank[earlier] < front || !dominates(point[earlier], point[at]);
            int n_here;
            const int before = count_before(is_in, n_before, &n_here);
            if (is_in) member[n_members + before] = at;
            n_members += n_here;
        }
        __syncthreads();
        for (int at = threadIdx.x; at < n_members; at += blockDim.x) rank[member[at]] = front;
        n_ranked += n_members;
        __syncthreads();
    }
    const int room = n_kept - (n_ranked - n_members);
    if (room < n_members) {
        const double reach = point[member[n_members - 1]].x - point[member[0]].x;
        for (int at = threadIdx.x; at < n_members; at += blockDim.x) {
            const bool is_end = at == 0 || at == n_members - 1;
            double apart = is_end ? 1e300 : apart_by_second(point, member, n_members, at);
            if (!is_end && reach > 0.0) apart += (point[member[at + 1]].x - point[member[at - 1]].x) / reach;
            crowd[at] = apart;
        }
        __syncthreads();
        for (int at = threadIdx.x; at < n_members; at += blockDim.x) {
            int n_ahead = 0;
            for (int other = 0; other < n_members; other++)
                n_ahead += crowd[other] > crowd[at] || (crowd[other] == crowd[at] && other < at);
            if (n_ahead >= room) rank[member[at]] = n_rows;
        }
        __syncthreads();
    }
    int n_parents = 0;
    for (int from = 0; from < n_rows; from += blockDim.x) {
        const int at = from + threadIdx.x;
        const bool is_kept = at < n_rows && rank[at] < front;
        int n_here;
        const int before = n_parents + count_before(is_kept, n_before, &n_here);
        if (is_kept) parents[before] = row[at];
        else if (at < n_rows) children[at - before] = row[at];
        n_parents += n_here;
    }
    if (threadIdx.x == 0) (*generation)++;
}

// One block: which of the rows enter the archive, and where; what they dominate leaves it. `slot[i]` is -1 for those
// that do not enter, `alive` tells which slots of the archive hold a point, `size` how many do. There must be as many
// free slots as rows; they are filled from the front, so that equal runs fill equal slots.
extern "C" __global__ void remember(int n, int room, const int* rows, const double2* points, double2* kept, int* alive,
                                    int* slot, int* free_slot, int* size) {
    __shared__ int n_before[32];
    for (int i = threadIdx.x; i < n; i += blockDim.x) slot[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x / 8; i < n; i += blockDim.x / 8) {
        const double2 mine = points[rows[i]];
        bool is_out = false;
        for (int at = threadIdx.x % 8; at < room && !is_out; at += 8)
            is_out = alive[at] && kept[at].x <= mine.x && kept[at].y <= mine.y;
        for (int other = threadIdx.x % 8; other < n && !is_out; other += 8) {
            const double2 theirs = points[rows[other]];
            const bool is_equal = theirs.x == mine.x && theirs.y == mine.y;
            is_out = dominates(theirs, mine) || (is_equal && other < i);
        }
        if (is_out) slot[i] = -1;
    }
    __syncthreads();
    int n_alive = 0, n_free = 0, n_new = 0;
    for (int from = 0; from < room; from += blockDim.x) {
        const int at = from + threadIdx.x;
        bool is_alive = at < room && alive[at];
        if (is_alive) {
            for (int i = 0; i < n; i++) is_alive = is_alive && !(slot[i] == 0 && dominates(points[rows[i]], kept[at]));
            alive[at] = is_alive;
        }
        int n_here, n_there;
        const int before = n_free + count_before(at < room && !is_alive, n_before, &n_here);
        if (at < room && !is_alive && before < n) free_slot[before] = at;
        count_before(is_alive, n_before, &n_there);
        n_free += n_here;
        n_alive += n_there;
    }
    __syncthreads();
    for (int from = 0; from < n; from += blockDim.x) {
        const int i = from + threadIdx.x;
        const bool is_new = i < n && slot[i] == 0;
        int n_here;
        const int before = n_new + count_before(is_new, n_before, &n_here);
        if (is_new) {
            const int at = free_slot[before];
            slot[i] = at;
            alive[at] = 1;
            kept[at] = points[rows[i]];
        }
        n_new += n_here;
    }
    if (threadIdx.x == 0) *size = n_alive + n_new;
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
