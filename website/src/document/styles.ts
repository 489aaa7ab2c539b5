// The style sheets of the pages' components, which the browser needs although it holds none of the components.

/** The bundler's, which lists the modules of a folder. */
declare const require: {context(folder: string, deep: boolean, names: RegExp): {keys(): string[]; (name: string): unknown}};

// Their order in the style sheet is that of their paths: no rule may depend on it.
const sheets = require.context('..', true, /\.module\.css$/);
sheets.keys().forEach(sheets);

export {};
