import { answerQuestions } from '../published/thread.ts';
import type { ReportMaterial } from './report-material.ts';
import { reportPdf } from './report-pdf.ts';

answerQuestions((material: ReportMaterial): Promise<Uint8Array> => reportPdf(material));
