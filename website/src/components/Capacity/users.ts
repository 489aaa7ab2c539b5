// Users that a knee is enough for, by assumption. Pure.

/** Users at a share of the knee; a share above the whole knee would say what was never measured. */
export function users(kneePerSecond: number, sharePercent: number, requestsPerUser: number): number {
  const share = Math.min(Math.max(sharePercent, 0), 100) / 100;
  return requestsPerUser > 0 ? Math.floor((kneePerSecond * share) / requestsPerUser) : 0;
}

/** Cut down to three digits, whole: more than a knee's spread allows would claim a precision, and rounding up a capacity. */
export function cut(value: number): number {
  const step = 10 ** Math.max(Math.floor(Math.log10(Math.max(value, 1))) - 2, 0);
  return Math.floor(value / step) * step;
}
