import { describe, expect, it } from 'vitest'
import { splitStatements, toPositional } from '../../src/db/sql-text.js'

describe('SQL text', () => {
  it('numbers placeholders by their position and leaves literals, names and comments alone', () => {
    expect(toPositional(`SELECT $2, '$1''$3', "$4" /* $5 */ FROM t WHERE a = $10 AND b = $2 -- $6`)).toEqual({
      text: `SELECT ?, '$1''$3', "$4" /* $5 */ FROM t WHERE a = ? AND b = ? -- $6`,
      order: [1, 9, 1],
      valueCount: 10,
      isInOrder: false,
    })
  })

  it('knows when the placeholders stand in the order of the values', () => {
    expect(toPositional('SELECT $1 WHERE $2 = $3').isInOrder).toBe(true)
    expect(toPositional('SELECT $1 WHERE $1 = $2').isInOrder).toBe(false)
    expect(toPositional('SELECT $2, $1').isInOrder).toBe(false)
    expect(toPositional('SELECT 1').isInOrder).toBe(true)
  })

  it('splits a script at semicolons outside literals and comments, and drops what is only comment', () => {
    const script = `-- It's a table; really.
CREATE TABLE a (x TEXT DEFAULT ';'); -- the end; of it
/* nothing; here */
;
CREATE INDEX i ON a (x);
-- nor here;
`
    expect(splitStatements(script)).toEqual([
      `-- It's a table; really.\nCREATE TABLE a (x TEXT DEFAULT ';')`,
      'CREATE INDEX i ON a (x)',
    ])
  })
})
