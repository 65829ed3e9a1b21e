import { offerCopies, shareLanguage } from './examples.ts';
import { openSearch } from './search.ts';
import { offerTries } from './try-it.ts';

/** Folder that the documentation is served from, and the root of the service above it. */
const assets = new URL('./', import.meta.url);
const service = new URL('../../', assets);

openSearch(assets);
shareLanguage();
offerCopies();
offerTries(service);
document.documentElement.dataset.ready = 'true';
