import type { GrowingProfile } from "./growing_profile";
import { isLevel, type Window } from "./profile";

const OF_A_PROCESS = /^(.+-)?\d{8}T\d{6}\.\d{3}Z-(\d+)-\d+\.pb\.gz$/; // NAME-TIME-PID-SEQ, as the directory backend calls windows

/** Of each process only the latest level counts. A part of a window may have none. */
export function keepLatestLevels(profile: GrowingProfile): void {
  const processes = profile.windows.map(processOf);
  profile.types.forEach((type, column) => {
    if (isLevel(type)) keepLatest(profile, profile.values[column], processes);
  });
}

function processOf({ name, side }: Window, at: number): string {
  const [, application, pid] = OF_A_PROCESS.exec(name.split("/").pop()!) ?? [];
  return pid === undefined ? `file ${at}` : `${side} ${application ?? ""}${pid}`;
}

function keepLatest({ windows, sampleWindow }: GrowingProfile, values: number[], processes: string[]): void {
  const latest = new Map<string, number>();
  values.forEach((value, sample) => {
    const window = sampleWindow[sample];
    const known = latest.get(processes[window]);
    if (value > 0 && (known === undefined || windows[window].start >= windows[known].start)) latest.set(processes[window], window);
  });
  values.forEach((_, sample) => {
    const window = sampleWindow[sample];
    if (latest.get(processes[window]) !== window) values[sample] = 0;
  });
}
