import { factsOf } from "../data/about";
import type { GrowingProfile } from "../data/growing_profile";
import type { Commit, Fact, Side } from "../data/profile";

type JsonFrame = [string, string, number?];
type JsonSample = [(number | JsonFrame)[], number, number?, number?];

/** Our data Hash, and rperf's, whose stacks have their frames written out. */
interface Data {
  mode?: string | string[];
  start_time_ns?: number;
  duration_ns?: number;
  frames?: JsonFrame[];
  aggregated_samples?: JsonSample[];
  raw_samples?: JsonSample[];
  label_sets?: Record<string, unknown>[];
  values?: Record<string, number[]>;
  units?: Record<string, string>;
  meta?: { git?: Git; labels?: Record<string, unknown> } & Record<string, unknown>;
  frequency?: unknown;
  sampling_count?: unknown;
  detected_thread_count?: unknown;
  user_ns?: unknown;
  sys_ns?: unknown;
  maxrss_mb?: unknown;
}
interface Git {
  sha?: string;
  branch?: string;
  subject?: string;
  committed_at?: string;
  dirty?: boolean;
}

export function decodeJson(text: string, name: string, side: Side, profile: GrowingProfile): void {
  const data = JSON.parse(text) as Data;
  const samples = data.aggregated_samples ?? data.raw_samples;
  if (!Array.isArray(samples)) throw new Error("no profile: it has no aggregated_samples");
  const weight = [data.mode ?? "wall"].flat()[0];
  const others = Object.entries(data.values ?? {}).filter(([other]) => other !== weight && !isPrecision(other, data));
  const unit = (type: string) => data.units?.[type] ?? "nanoseconds";
  const weights = profile.type(weight, unit(weight));
  const columns = others.map(([type, column]) => [profile.type(type, unit(type)), column] as const);
  profile.defaultType ||= weight;
  const precise: (readonly [column: number[], said: number[]])[] = [[weights, "weight"] as const, ...columns.map(([type], at) => [type, others[at][0]] as const)]
    .flatMap(([type, name]) => (data.values?.[`${name}_squares`] && isPrecision(`${name}_squares`, data) ? [[profile.squaresOf(type), data.values[`${name}_squares`]] as const] : []));
  const types = [weights, ...columns.map(([type]) => type)];
  const window = profile.addWindow({ name, start: data.start_time_ns ?? 0, duration: data.duration_ns ?? 0, side, types, commit: commitOf(data), facts: facts(data) });

  const frameIds = data.frames?.map((frame) => frameId(frame, profile));
  const labelsOf = memoizedLabels(data.label_sets ?? [], profile);
  samples.forEach(([stack, amount, thread, set], at) => {
    let node = 0;
    for (let depth = stack.length - 1; depth >= 0; depth--) {
      const frame = stack[depth];
      const id = typeof frame === "number" ? frameIds?.[frame] : frameId(frame, profile);
      if (id === undefined) throw new Error(`sample ${at} has no frame ${JSON.stringify(frame)}`);
      node = profile.stacks.child(node, id);
    }
    const sample = profile.addSample(node, labelsOf(set ?? 0, thread ?? 0), window);
    profile.values[weights][sample] = amount;
    for (const [type, column] of columns) profile.values[type][sample] = column[at] ?? 0;
    for (const [column, said] of precise) column[sample] = said[at] ?? NaN;
  });
}

/** Columns that say how precise the values are; what a program counts under such a name has a unit. */
function isPrecision(name: string, { units }: Data): boolean {
  return (name === "samples" || name.endsWith("_squares")) && units?.[name] === undefined;
}

function commitOf({ meta }: Data): Commit | undefined {
  const git = meta?.git;
  if (!git?.sha) return undefined;
  return { sha: String(git.sha), subject: String(git.subject ?? ""), time: Date.parse(String(git.committed_at)), dirty: git.dirty === true };
}

function facts(data: Data): Fact[] {
  const { meta = {}, frequency, sampling_count, detected_thread_count, user_ns, sys_ns, maxrss_mb } = data;
  const { command, ruby_version, hostname, pid, attached_to, rperf_push_version, rperf_version, git, labels } = meta;
  return factsOf([
    ["command", Array.isArray(command) ? command.join(" ") : command],
    ["Ruby", ruby_version], ["host", hostname], ["process", typeof pid === "number" ? String(pid) : undefined],
    ["process", typeof attached_to === "number" ? String(attached_to) : undefined],
    ["mode", [data.mode ?? []].flat().join("+")], ["frequency", frequency, "Hz"], ["samples", sampling_count, "count", "sum"], ["threads", detected_thread_count, "count", "most"],
    ["CPU time", Number(user_ns) + Number(sys_ns ?? 0), "nanoseconds", "sum"], ["memory", Number(maxrss_mb) * 2 ** 20, "bytes", "most"],
    ["branch", git?.branch], ...Object.entries(labels ?? {}).map(([key, value]): [string, unknown] => [key, value]),
    ["by", rperf_push_version === undefined ? rperf_version && `rperf ${String(rperf_version)}` : `rperf-push ${String(rperf_push_version)}`],
  ]);
}

function frameId([file, name, line]: JsonFrame, profile: GrowingProfile): number {
  return profile.frame(String(name), String(file), line ?? 0);
}

function memoizedLabels(sets: Record<string, unknown>[], profile: GrowingProfile) {
  const known = new Map<string, number>();
  return (set: number, thread: number): number => {
    const key = `${set} ${thread}`;
    let id = known.get(key);
    if (id === undefined) {
      const labels = new Map(Object.entries(sets[set] ?? {}).map(([name, value]) => [name, String([value].flat()[0])]));
      if (thread) labels.set("thread_seq", String(thread));
      id = profile.labels(labels);
      known.set(key, id);
    }
    return id;
  };
}
