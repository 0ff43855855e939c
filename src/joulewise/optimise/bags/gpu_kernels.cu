// Bags on a GPU: makespan and energy of chromosomes.
//
// Genes are [row][task], places that run them; points [row] = (makespan in s, energy in J). Times and energies are counted
// in whole ticks, so sums do not depend on the order of adding. Points are rounded as on cores: no fused operations.

typedef long long ticks;

__device__ void add(ticks* to, ticks more) { atomicAdd((unsigned long long*)to, (unsigned long long)more); }

// One block per row: the ticks of time by machine in shared memory, those of extra energy in one number. `cost` is
// [task type][place][time, energy].
extern "C" __global__ void weigh(int n_tasks, int n_machines, int n_places, const int* rows, const int* genes,
                                 const int* task_type, const int* machine, const longlong2* cost, double tick_s,
                                 double tick_j, double idle_w, double2* points) {
    extern __shared__ ticks busy[];
    __shared__ ticks extra, latest;
    const int* place = genes + (size_t)rows[blockIdx.x] * n_tasks;
    for (int k = threadIdx.x; k < n_machines; k += blockDim.x) busy[k] = 0;
    if (threadIdx.x == 0) extra = latest = 0;
    __syncthreads();
    ticks mine = 0;
    for (int i = threadIdx.x; i < n_tasks; i += blockDim.x) {
        const longlong2 taken = cost[(size_t)task_type[i] * n_places + place[i]];
        add(&busy[machine[place[i]]], taken.x);
        mine += taken.y;
    }
    add(&extra, mine);
    __syncthreads();
    for (int k = threadIdx.x; k < n_machines; k += blockDim.x) atomicMax(&latest, busy[k]);
    __syncthreads();
    if (threadIdx.x > 0) return;
    const double makespan_s = __dmul_rn((double)latest, tick_s);
    const double used_j = __dadd_rn(__dmul_rn((double)extra, tick_j), __dmul_rn(idle_w, makespan_s));
    points[rows[blockIdx.x]] = make_double2(makespan_s, used_j);
}
