// Headings of a document without a level between the title and its sections: moved up, so that an outline
// skips no level.

interface Node {
  type: string;
  depth?: number;
  children?: Node[];
}

/** Remark plugin: the highest heading below the title is of level 2. */
export function headings() {
  return (tree: Node): void => {
    const below = (tree.children ?? []).filter((node) => node.type === 'heading' && (node.depth ?? 1) > 1);
    const gap = Math.min(...below.map(({depth = 2}) => depth)) - 2;
    if (gap > 0 && Number.isFinite(gap)) for (const node of below) node.depth = (node.depth ?? 2) - gap;
  };
}
