'use strict'

/** That none of these names is there; once one is, the scenario fails, and wants to be extended. */
function absent(title, thing, ...names) {
  const present = names.filter((name) => name in thing)
  if (present.length) {
    throw new Error(`${title} has ${present} now: probe it`)
  }
  return { lacks: `${title} has no ${names.join(' or ')}` }
}

module.exports = { absent }
