// Under which name lie the histograms of a cell? The same for the build that writes them and the page that links them.

/** `007-plumbkv-native-apart-get-64B-c50-p1`: place in the record and key, in letters that any file system takes. */
export function histogramName(index: number, key: string): string {
  return `${String(index).padStart(3, '0')}-${key.replace(/[^A-Za-z0-9.]+/g, '-').slice(0, 100)}`;
}
