import { polygonShape } from '../rules/area-geometry.ts';
import { answerQuestions } from '../thread.ts';

answerQuestions(polygonShape);
