// The engine under Sabaki's own GTP library, as Sabaki uses it: state kept in step, analysis that is stopped by the next command.
//
//   npm install @sabaki/gtp            in any folder
//   NODE_PATH=<that folder>/node_modules node tests/support/try_sabaki.cjs [python] [more arguments of play_gtp.py]
//
// Prints what it did; ends with 1 at the first thing that is not as it should be.

const assert = require('assert')
const path = require('path')
const {Controller, ControllerStateTracker} = require('@sabaki/gtp')

const [python = 'python', ...more] = process.argv.slice(2)
const engine = new Controller(python, [path.join(__dirname, '..', '..', 'pipelines', 'play_gtp.py'), ...more])
const tracker = new ControllerStateTracker(engine)

async function ask(name, args = [], hear = () => {}) {
  const response = await engine.sendCommand({name, args}, hear)
  assert(!response.error, `${name} ${args.join(' ')}: ${response.content}`)
  return response.content
}

// Until `enough` lines of analysis have come; Sabaki ends it with whatever it says next.
async function analyze(name, args, enough) {
  const lines = []
  let heard
  const satisfied = new Promise(resolve => (heard = resolve))
  const answer = ask(name, args, ({line}) => {
    if (line.startsWith('info move ')) lines.push(line)
    if (lines.length >= enough) heard()
  })
  await Promise.race([satisfied, answer])
  await ask('name')
  await answer
  assert(lines.length >= enough, `${name}: ${lines.length} lines`)
  return lines
}

async function main() {
  engine.start()
  const began = Date.now()
  console.log(await ask('name'), await ask('version'), `answers after ${((Date.now() - began) / 1000).toFixed(1)} s`)
  const commands = (await ask('list_commands')).split('\n')
  for (const wanted of ['genmove', 'undo', 'lz-analyze', 'lz-genmove_analyze', 'kata-analyze', 'set_free_handicap', 'loadsgf'])
    assert(commands.includes(wanted), `no ${wanted}`)

  const history = ['B Q16', 'W D4', 'B Q3'].map(move => ({name: 'play', args: move.split(' ')}))
  await tracker.sync({boardsize: [19, 19], komi: 6.5, history})
  assert.strictEqual(tracker.state.history.length, 3)
  console.log('in step after 3 turns')

  const lines = await analyze('lz-analyze', ['W', '20'], 3)
  console.log('lz-analyze:', lines[lines.length - 1].slice(0, 100))
  await analyze('kata-analyze', ['W', '20'], 3)
  console.log('kata-analyze: the same')

  const spoken = []
  const move = await ask('lz-genmove_analyze', ['W', '20'], ({line}) => spoken.push(line))
  const played = move.split('\n').find(line => line.startsWith('play '))
  assert(played && spoken.some(line => line.startsWith('info move ')), move)
  console.log('lz-genmove_analyze:', played)

  await tracker.sync({boardsize: [19, 19], komi: 6.5, history: history.slice(0, 2)})  // Sabaki goes back in the game
  console.log('taken back; genmove:', await ask('genmove', ['B']))
  await engine.stop(10000)
  console.log('all as it should be')
}

main().then(
  () => process.exit(0),
  error => {
    console.error(`not as it should be: ${error.message}`)
    engine.kill()
    process.exit(1)
  }
)
