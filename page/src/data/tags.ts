import { labelKeys, Sieve, NONE, type Filter } from "./filter";
import type { Profile } from "./profile";

export interface TagValue {
  value: string | null;
  name: string;
  amount: number;
}

/** What each value of each label comes to, the largest first. */
export function tags(profile: Profile, type: number, filter: Filter, columnOf: ArrayLike<number>): Map<string, TagValue[]> {
  const ofSet = new Float64Array(profile.labelSets.length);
  const seen = new Set<number>();
  const sieve = new Sieve(profile, filter, columnOf);
  for (let sample = 0; sample < profile.sampleCount; sample++) {
    if (!sieve.keeps(sample)) continue;
    ofSet[profile.sampleLabels[sample]] += profile.values[type][sample];
    seen.add(profile.sampleLabels[sample]);
  }
  const sets = [...seen];
  return new Map(labelKeys(profile).map((key) => {
    const sums = new Map<string | null, number>();
    for (const set of sets) {
      const value = profile.labelSets[set].get(key) ?? null;
      sums.set(value, (sums.get(value) ?? 0) + ofSet[set]);
    }
    const values = [...sums].map(([value, amount]) => ({ value, name: value ?? NONE, amount }));
    return [key, values.sort((a, b) => b.amount - a.amount)];
  }));
}

/** Every value of a label, whatever the filter. */
export function allValues(profile: Profile, key: string): (string | null)[] {
  const values = new Set(profile.labelSets.map((labels) => labels.get(key) ?? null));
  return [...values].sort((a, b) => Number(a !== null) - Number(b !== null) || ((a ?? "") < (b ?? "") ? -1 : 1));
}
