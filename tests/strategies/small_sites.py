"""Files of sites: our own, and those of made-up centres with a Slurm."""

from __future__ import annotations

SITE = """\
name = "alder"

[[nodes]]  # bought first
name = "cpu"
count = 100
cores = 128
memory = "512 GiB"
other = {nvme = 2}
features = ["zen3", "ib"]

[[nodes]]
name = "gpu"
count = 8
cores = 64
memory = "1 TiB"
gpus = {a100 = 4}
weight = 20

[[partition]]
name = "batch"
nodes = ["cpu", "gpu"]
default = true
max_time = "2 d"
default_time = "1 h"
min_nodes = 1
max_nodes = 64
max_cores_per_node = 64

[[partition]]
name = "gpu"
nodes = "gpu"
tier = 10
sharing = "exclusive"
state = "drain"
qos = "normal"
accounts = ["physics"]

[[licence]]
name = "matlab"
count = 20

[[qos]]
name = "normal"
priority = 10
max_time = "1 d"
max_jobs = 100
max = {cores = 1000, gpus = 16, nodes = 10, memory = "3 TiB", a100 = 8, matlab = 5}
max_per_user = {gpus = 0}
preempts = ["scavenger"]
preemption = "requeue"
grace = "5 min"

[[qos]]
name = "scavenger"

[[account]]
name = "physics"
shares = 10
users = {anna = 1, bob = 0}

[[account]]
name = "optics"
parent = "physics"

[[user]]
name = "bob"
account = "optics"
max_jobs = 3

[[reservation]]
name = "course"
start = "2026-03-01T09:00"
end = "2026-03-01T12:00"
nodes = {cpu = 4}
users = ["anna"]

[[reservation]]
name = "maintenance"
start = "30 d"
end = "30.5 d"
nodes = {cpu = 100, gpu = 8}

[slurm]
bf_window = 4320
bf_continue = true
prioritydecayhalflife = "14 d"
priorityflags = ["fair_tree"]
priorityweighttres = {cpu = 1000, "gres/gpu" = 2.5}
"""

CENTRE = """\
# slurm.conf of a made-up centre
ClusterName=larch
SlurmctldHost=ctl1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_window=4320,bf_resolution=300,bf_max_job_test=1000,\\
bf_continue,default_queue_depth=500,bf_yield_interval=1000000
PriorityType=priority/multifactor
PriorityDecayHalfLife=14-0
PriorityMaxAge=2-12
PriorityWeightFairshare=100000
PriorityWeightTRES=CPU=1000,GRES/gpu=3000
PriorityFlags=FAIR_TREE,MAX_TRES
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
OverTimeLimit=3
Licenses=matlab:20,comsol
GresTypes=gpu,nvme
AccountingStorageTRES=gres/gpu
TopologyPlugin=topology/tree
Include nodes.conf
NodeSet=fat Feature=fat
PartitionName=DEFAULT MaxTime=2-00:00:00 State=UP DefaultTime=60
PartitionName=batch Nodes=node[001-020] Default=YES PriorityTier=10 AllowAccounts=physics,bio
PartitionName=gpu Nodes=gpu[1-12] MaxTime=1-0 QOS=gpu DefMemPerCPU=4000
PartitionName=fat Nodes=fat MaxNodes=2 MinNodes=2 OverSubscribe=EXCLUSIVE MaxCPUsPerNode=30
PartitionName=scavenge Nodes=ALL PreemptMode=CANCEL GraceTime=120 MaxTime=12:00:30 PriorityJobFactor=7 State=DOWN
PartitionName=later Nodes=new[1-2]
"""
NODES = """\
NodeName=DEFAULT Sockets=2 CoresPerSocket=32 State=UNKNOWN
nodename=node[001-018] RealMemory=256000 Feature=zen3,ib
NodeName=node[019,020] RealMemory=1024000 Feature=zen3,ib,fat Weight=50
NodeName=gpu[1-8] RealMemory=512000 Gres=gpu:a100:4(S:0-1),nvme:2 Weight=100
NodeName=gpu[9-12] Sockets=1 CoresPerSocket=24 ThreadsPerCore=2 RealMemory=384000 Gres=gpu:2 CoreSpecCount=2 \\
  MemSpecLimit=1000
NodeName=new[1-2] State=FUTURE
"""
GRES = "NodeName=gpu[9-12] Name=gpu Type=v100 File=/dev/nvidia[0-1] Cores=0-23\n"

WHOLE = """\
ClusterName=birch
ControlMachine=head
SelectType=select/linear
NodeName=c[1-4] CPUs=16 RealMemory=64000
PartitionName=short Nodes=c[1-4] MaxTime=30 Shared=FORCE:4 State=UP
PartitionName=long Nodes=c[1-4] MaxTime=INFINITE Priority=5
"""

SHOWN = """\
PartitionName=debug
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=YES GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=01:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=p[1-2]
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED

NodeName=p1 Arch=x86_64 CoresPerSocket=4
   CPUAlloc=0 CPUTot=4 CPULoad=0.01
   AvailableFeatures=new,fast
   Gres=(null)
   OS=Linux 6.1.0 #1 SMP (2024-01-01)
   RealMemory=8000 AllocMem=0 FreeMem=N/A Sockets=1 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1
   Partitions=debug
   Reason=fans are loud [root@2026-01-01T00:00:00]

NodeName=p2 Arch=x86_64 CoresPerSocket=4
   CPUAlloc=0 CPUTot=4 CPULoad=0.01
   AvailableFeatures=new,fast
   Gres=(null)
   RealMemory=8000 AllocMem=0 FreeMem=N/A Sockets=1 Boards=1
   State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1
   Partitions=debug
"""
"""What scontrol shows of partitions and nodes, in one text."""

QOS = """\
Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|GrpTRESMins|GrpJobs|\
GrpSubmit|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxTRESPA
normal|10|00:00:00|scavenger||cluster|||1.000000|||||cpu=512,node=8,billing=9|1-00:00:00|gres/gpu=4,mem=1.5T|20|100|
gpu|20|00:00:00|||cluster|DenyOnLimit||2.000000|gres/gpu:a100=16,license/matlab=5|cpu=1000||||||0||gres/gpu=0
scavenger|0|00:05:00|||requeue|||0.000000|cpu=0|||50||||||
"""
ACCOUNTS = """\
Cluster|Account|User|Partition|Share|GrpJobs|QOS|Def QOS
larch|root|||1||normal|
larch| root|root||1||normal|
larch| physics|||60||normal,gpu|
larch|  physics|anna||10||normal,gpu|normal
larch|  optics|||parent|5|normal|
larch|   optics|bob||2||normal|
larch| geo|||40||normal|
"""
"""What sacctmgr prints with -P: qualities of service, and the tree of accounts."""

NODE_LIST = """\
sn,cpu_milli,memory_mib,gpu,model
openb-node-0000,32000,262144,0,
openb-node-0001,32000,262144,0,
openb-node-0002,96000,393216,8,G2
openb-node-0003,96000,786432,8,G2
openb-node-0004,8500,30517,1,
"""
