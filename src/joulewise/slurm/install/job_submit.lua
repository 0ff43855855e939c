-- Holds the jobs of managed partitions until Joulewise releases them. Written by `joulewise slurm install`.
--
-- It goes beside slurm.conf, which needs JobSubmitPlugins=lua. Whatever goes wrong in here, and whenever Joulewise has
-- not been seen for a while, jobs are left as they are: then they run as if this script were not there.

local MANAGED = {@{partitions}}
local PROTECTED_USERS = {@{users}}
local PROTECTED_ACCOUNTS = {@{accounts}}
local PROTECTED_QOS = {@{qos}}
local OPERATORS = {@{operators}} -- user numbers of those who release jobs: Joulewise and administrators

local HEARTBEAT = @{heartbeat} -- Joulewise writes the seconds since 1970 here at each event
local PATIENCE_S = @{patience_s}
local GRACE_S = @{grace_s} -- how long a job that its user releases waits for Joulewise to take it over

local MARK = "joulewise"
local MARK_USER = "joulewise: held by its user"
local PENDING = 0

-- Whether Joulewise was seen lately. A heartbeat of the future, after a jump of the clock, counts as none.
local function is_alive()
   local file = io.open(HEARTBEAT, "r")
   if file == nil then return false end
   local seen_s = tonumber(file:read(32) or "")
   file:close()
   return seen_s ~= nil and math.abs(os.time() - seen_s) <= PATIENCE_S
end

local function is_managed(partitions)
   for name in string.gmatch(partitions or "", "[^,]+") do
      if MANAGED[name] then return true end
   end
   return false
end

-- The partitions that a job asks for, or else the default one.
local function partitions_of(job_desc, part_list)
   if job_desc.partition ~= nil then return job_desc.partition end
   for name, part in pairs(part_list) do
      if part.flag_default == 1 or part.flag_default == true then return name end
   end
   return nil
end

local function is_protected(job_desc)
   return PROTECTED_USERS[job_desc.user_name or ""] or PROTECTED_ACCOUNTS[job_desc.account or ""]
      or PROTECTED_QOS[job_desc.qos or ""]
end

local function starts_with(text, start)
   return string.sub(text or "", 1, #start) == start
end

-- A user may not write our mark: a job that we do not hold has none.
local function take_over(job_desc, part_list)
   local is_ours = is_managed(partitions_of(job_desc, part_list)) and not is_protected(job_desc) and is_alive()
   if not is_ours then
      if starts_with(job_desc.admin_comment, MARK) then job_desc.admin_comment = nil end
   elseif job_desc.priority == 0 then
      job_desc.admin_comment = MARK_USER
   else
      job_desc.admin_comment = MARK
      job_desc.priority = 0
   end
end

-- Let a user's release or move happen, but so late that Joulewise sees the job before it starts.
local function delay(job_desc)
   job_desc.begin_time = math.max(job_desc.begin_time or 0, os.time() + GRACE_S)
end

local REFUSED = "Joulewise decides when this job starts. To keep it back: scontrol update JobId=... StartTime=..."

-- What a user may not do to a waiting job that we hold: release it, or hold it, which could not be told from our hold.
local function is_refused(job_desc, job_rec, modify_uid)
   if OPERATORS[modify_uid] or job_rec.job_state ~= PENDING or not is_alive() then return false end
   local is_hold_or_release = job_desc.priority ~= nil and job_desc.priority ~= slurm.NO_VAL
   local comment = job_rec.admin_comment
   if is_hold_or_release and starts_with(comment, MARK) and not starts_with(comment, MARK_USER) then return true end
   local is_release = is_hold_or_release and job_desc.priority ~= 0 and starts_with(comment, MARK_USER)
   local comes_to_us = is_managed(job_desc.partition) and not starts_with(comment, MARK) and job_rec.priority ~= 0
   if is_release or comes_to_us then delay(job_desc) end
   return false
end

function slurm_job_submit(job_desc, part_list, submit_uid)
   local is_well, problem = pcall(take_over, job_desc, part_list)
   if not is_well then slurm.log_error("joulewise: job left as it is: %s", tostring(problem)) end
   return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   local is_well, answer = pcall(is_refused, job_desc, job_rec, modify_uid)
   if not is_well then slurm.log_error("joulewise: change let through: %s", tostring(answer)) end
   if is_well and answer then
      slurm.log_user(REFUSED)
      return slurm.ERROR
   end
   return slurm.SUCCESS
end

return slurm.SUCCESS
