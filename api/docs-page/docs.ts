import { openContents } from './contents.ts';
import { offerCopies, shareLanguage } from './examples.ts';
import { openSearch } from './search.ts';
import { offerTries } from './try-it.ts';

/** The root of the service: scripts are two folders below it. */
const service = new URL('../../', import.meta.url);

openSearch();
shareLanguage();
offerCopies();
openContents();
offerTries(service);
document.documentElement.dataset.ready = 'true';
