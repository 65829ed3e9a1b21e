import { answerQuestions } from '../published/thread.ts';
import { polygonShape } from '../rules/area-geometry.ts';

answerQuestions(polygonShape);
