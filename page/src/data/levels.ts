import type { GrowingProfile } from "./growing_profile";
import { isLevel, type Window } from "./profile";

const OF_A_PROCESS = /^(.+-)?\d{8}T\d{6}\.\d{3}Z-(\d+)-\d+\.pb\.gz$/; // NAME-TIME-PID-SEQ, as the directory backend calls windows

/** Of each process only the latest level counts, also one of nothing. A part of a window without a level lacks the value. */
export function keepLatestLevels(profile: GrowingProfile): void {
  const processes = profile.windows.map(processOf);
  profile.types.forEach((type, column) => {
    if (isLevel(type)) keepLatest(profile, column, processes);
  });
}

function processOf({ name, side }: Window, at: number): string {
  const [, application, pid] = OF_A_PROCESS.exec(name.split("/").pop()!) ?? [];
  return pid === undefined ? `file ${at}` : `${side} ${application ?? ""}${pid}`;
}

function keepLatest({ windows, sampleWindow, values }: GrowingProfile, column: number, processes: string[]): void {
  const latest = new Map<string, number>();
  windows.forEach(({ start, types }, window) => {
    const known = latest.get(processes[window]);
    if (types?.includes(column) && (known === undefined || start >= windows[known].start)) latest.set(processes[window], window);
  });
  const level = values[column];
  level.forEach((_, sample) => {
    const window = sampleWindow[sample];
    if (latest.get(processes[window]) !== window) level[sample] = 0;
  });
}
