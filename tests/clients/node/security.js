'use strict'

const { readFileSync } = require('fs')

/** One word of the environment, which says what the client trusts and what it shows; no list of processes shows it. */
function said(name) {
  return process.env[`SKEIN_CLIENT_${name}`]
}

/** The members of a configuration that are about security. */
function security() {
  return { ...(said('CA') && { ssl: ssl() }), ...(said('MECHANISM') && { sasl: sasl() }) }
}

function ssl() {
  const shown = said('CERTIFICATE') && {
    cert: readFileSync(said('CERTIFICATE')),
    key: readFileSync(said('KEY')),
  }
  return { ca: [readFileSync(said('CA'))], ...shown }
}

function sasl() {
  const mechanism = said('MECHANISM').toLowerCase()
  if (mechanism === 'oauthbearer') {
    return { mechanism, oauthBearerProvider: async () => ({ value: await token() }) }
  }
  return { mechanism, username: said('USERNAME'), password: said('PASSWORD') }
}

/** That of the file, or a new one from the endpoint. */
async function token() {
  if (said('TOKEN_FILE')) {
    return readFileSync(said('TOKEN_FILE'), 'utf8').trim()
  }
  const body = new URLSearchParams({
    grant_type: 'client_credentials', client_id: said('USERNAME'), client_secret: said('PASSWORD'),
  })
  const answer = await fetch(said('TOKEN_ENDPOINT'), { method: 'POST', body })
  return (await answer.json()).access_token
}

module.exports = { security }
