import { PATH_ID } from '../../schemas/ids.ts';
import { PMTILES_TYPE } from '../../schemas/resources/tile-frame.ts';
import { ApiError } from '../http/errors.ts';
import { GZIP_FROM_BYTES, JSON_TYPE, mediaType } from '../http/reply.ts';
import { FILE_KINDS } from '../jobs/export.ts';
import { fileFault, jobFilePath } from '../jobs/files.ts';
import { isSigned, mayBeSigned } from '../jobs/poll.ts';
import { findServedJob, type Job } from '../jobs/rows.ts';
import { serveFile } from '../published/archives/response.ts';
import { archiveAt } from '../published/archives/tile-archives.ts';
import type { Catalog } from '../published/catalog.ts';
import { openPart } from '../published/data-root.ts';
import { type PublicRoute, serveDocument } from '../server/public.ts';
import type { Services } from '../services.ts';

/** Texts compress to a tenth; PDF and Parquet files are compressed already. */
const COMPRESSIBLE: ReadonlySet<string> = new Set(
  [FILE_KINDS.geojson, FILE_KINDS.csv].map(({ media_type }) => mediaType(media_type)),
);
const PATH = new RegExp(`^/v1/files/(${PATH_ID})$`);
/** Business of a job that does not exist, so that the check of its signature takes as long as any other. */
const NO_BUSINESS = 'biz_';

/** GET /v1/files/{job}: the file of a job, for a signed address that its poll gave and that has not expired. */
export function files(services: Pick<Services, 'records' | 'cipher' | 'files_root' | 'now'>): PublicRoute {
  const { records, cipher, files_root, now } = services;
  return {
    path: '/v1/files{/*rest}',
    handler: async (ctx) => {
      const { path, search } = ctx.state;
      const [, id] = PATH.exec(path) ?? [];
      if (id === undefined) throw new ApiError('not_found', 'there is nothing at this path');
      const now_ms = now();
      const job = mayBeSigned(search, now_ms) ? await findServedJob(records.reader, id, now_ms) : null;
      const signed = job ?? { id, business_id: NO_BUSINESS };
      if (!isSigned(search, cipher, signed, now_ms) || job === null)
        throw new ApiError('forbidden', 'this address was not given out, or has expired: ask for the job again');
      // HEAD and 304 open no file and must not announce one that is gone; a range must be of the bytes that its tag stands for.
      const fault = await fileFault(files_root, job);
      if (fault !== null) throw new Error(`file of job ${id} ${fault}`);
      const content = contentOf(job);
      const file = jobFilePath(files_root, job);
      const wrongSize = (size: number) => new Error(`file of job ${id} has ${size} bytes, expected ${content.bytes}`);
      await serveFile(ctx, content, (range) => openPart(file, content.bytes, range, wrongSize));
    },
  };
}

function contentOf({ id, bytes, sha256, media_type, file_name, data_source }: Job) {
  if (bytes === null || sha256 === null || media_type === null || file_name === null)
    throw new Error(`job ${id} is done without a file, expected one`);
  return {
    bytes,
    etag: `"${sha256}"`,
    media_type,
    compressible: bytes > GZIP_FROM_BYTES && COMPRESSIBLE.has(mediaType(media_type)),
    headers: {
      'Cache-Control': 'private, no-store',
      'Content-Disposition': `attachment; filename="${file_name}"`,
      ...(data_source === null ? {} : { 'X-Data-Source': data_source }),
    },
  };
}

/**
 * GET /tiles/scan/…, /tiles/reflectivity/… and /tiles/daily/…: the archives that a manifest lists, public, whole or by range, with a
 * strong tag made of their content. Throws DataUnavailable for a listed archive that is gone or was altered.
 */
export function archives(catalog: Pick<Catalog, 'edition'>): PublicRoute {
  return {
    path: '/tiles{/*rest}',
    handler: async (ctx) => {
      const edition = catalog.edition();
      const archive = await archiveAt(ctx.state.path, edition);
      if (archive === null) throw new ApiError('not_found', 'no such archive');
      const { file, headers } = archive;
      const content = { bytes: file.bytes, etag: `"${file.sha256}"`, media_type: PMTILES_TYPE, headers };
      await serveFile(ctx, content, (range) => edition.files.open(file, range));
    },
  };
}

/** GET /v1/openapi.json, without a key; the earlier variant has its own path. */
export function openApiDocument(document: object, path = '/v1/openapi.json'): PublicRoute {
  return { path, handler: serveDocument(JSON_TYPE, JSON.stringify(document)) };
}
