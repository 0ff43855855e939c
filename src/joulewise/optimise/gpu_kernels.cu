// NSGA-II on a GPU: breeding, selecting and remembering, whatever chromosomes stand for.
//
// Rows hold chromosomes: genes [kind][row][gene], points [row], both objectives minimised. The first kind of genes are
// places, the second, if there is one, an order. `parents` and `children` list rows. Random bits depend on (seed,
// generation, row, purpose) alone, so equal seeds give equal fronts.

typedef unsigned long long bits64;

constexpr int NOWHERE = -1;  // the place of a task that is not to run

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
// then, by chance, one task on a random place (or, where it may be left out, nowhere) and its order, if there is one,
// swapped with that of another.
extern "C" __global__ void breed(bits64 seed, const long long* generation, int n_parents, int n_tasks, int n_rows,
                                 const int* parents, const int* children, double mutation, const int* task_type,
                                 const int* allowed, int n_places, const int* n_allowed, int leaves_out, int n_kinds,
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
    if (n_kinds == 1) return;
    const int like = gene == child.mutated ? child.with : gene == child.with ? child.mutated : gene;
    to[kind_size + gene] = inherited(child, kind_size, like);
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
extern "C" __global__ void store(int n_kinds, int n_tasks, int n_rows, int room, const int* rows, const int* genes, const int* slot,
                                 int* archive) {
    const int to = slot[blockIdx.x], from = rows[blockIdx.x];
    if (to < 0) return;
    for (int kind = 0; kind < n_kinds; kind++)
        for (int gene = threadIdx.x; gene < n_tasks; gene += blockDim.x)
            archive[((size_t)kind * room + to) * n_tasks + gene] =
                genes[((size_t)kind * n_rows + from) * n_tasks + gene];
}
