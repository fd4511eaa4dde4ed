import { Doing, DOING_COUNT } from "./doing";
import { labelKeys, Sieve, NONE, type Filter } from "./filter";
import type { Profile } from "./profile";

export interface TagValue {
  value: string | null;
  name: string;
  amount: number;
  doing: Float64Array | null; // as DOINGS has them; null: the file does not say
}

/** What threads did with the time that a filter leaves; null: the file does not say. */
export function whatThreadsDid(profile: Profile, filter: Filter, columnOf: ArrayLike<number>): Float64Array | null {
  const doing = Doing.of(profile);
  if (!doing) return null;
  const amounts = new Float64Array(DOING_COUNT);
  const sieve = new Sieve(profile, filter, columnOf);
  for (let sample = 0; sample < profile.sampleCount; sample++) if (sieve.keeps(sample)) doing.add(sample, amounts);
  return amounts;
}

/** What each value of each label comes to, the largest first. */
export function tags(profile: Profile, type: number, filter: Filter, columnOf: ArrayLike<number>): Map<string, TagValue[]> {
  const ofSet = new Float64Array(profile.labelSets.length);
  const doing = Doing.of(profile);
  const didInSet = new Float64Array(doing ? profile.labelSets.length * DOING_COUNT : 0);
  const seen = new Set<number>();
  const sieve = new Sieve(profile, filter, columnOf);
  for (let sample = 0; sample < profile.sampleCount; sample++) {
    if (!sieve.keeps(sample)) continue;
    const set = profile.sampleLabels[sample];
    ofSet[set] += profile.values[type][sample];
    doing?.add(sample, didInSet, set * DOING_COUNT);
    seen.add(set);
  }
  const sets = [...seen];
  return new Map(labelKeys(profile).map((key) => {
    const values = new Map<string | null, TagValue>();
    for (const set of sets) {
      const value = profile.labelSets[set].get(key) ?? null;
      const one = values.get(value) ?? { value, name: value ?? NONE, amount: 0, doing: doing && new Float64Array(DOING_COUNT) };
      one.amount += ofSet[set];
      one.doing?.forEach((before, at) => (one.doing![at] = before + didInSet[set * DOING_COUNT + at]));
      values.set(value, one);
    }
    return [key, [...values.values()].sort((a, b) => b.amount - a.amount)];
  }));
}

/** Every value of a label, whatever the filter. */
export function allValues(profile: Profile, key: string): (string | null)[] {
  const values = new Set(profile.labelSets.map((labels) => labels.get(key) ?? null));
  return [...values].sort((a, b) => Number(a !== null) - Number(b !== null) || ((a ?? "") < (b ?? "") ? -1 : 1));
}
