// Names by which the parts of a document find each other in the page.
import type {PageName} from '../../plugins/benchmarks/routes';

/** Id of the element whose HTML the browser keeps. */
export const CONTENT_ID = 'document';

/** What the route hands to a document: with `npm start` the page and its data sets, in a build nothing. */
export interface DocumentProps {
  page?: {name: PageName};
  [dataSet: string]: unknown;
}
