import { ENGINES } from '../support/engines.js'
import { dbConformance } from './conformance.js'

for (const engine of ENGINES) dbConformance(engine)
