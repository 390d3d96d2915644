package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	saslplain "github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// said is one word of the environment, which says what the client trusts and what it shows; no list of processes shows it.
func said(name string) string { return os.Getenv("SKEIN_CLIENT_" + name) }

// security gives the options of a client that are about it.
func security() []kgo.Opt {
	options := []kgo.Opt{}
	switch {
	case said("DOMAIN") != "":
		options = append(options, kgo.Dialer(dial(said("DOMAIN"))))
	case said("CA") != "":
		options = append(options, kgo.DialTLSConfig(tlsConfig()))
	}
	if said("MECHANISM") != "" {
		options = append(options, kgo.SASL(mechanism()))
	}
	return options
}

// dial connects over TLS; names below the domain, which no name server knows, are all at 127.0.0.1.
func dial(domain string) func(context.Context, string, string) (net.Conn, error) {
	config := tlsConfig()
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		named := config.Clone()
		named.ServerName = host
		if strings.HasSuffix(strings.ToLower(host), "."+domain) {
			host = "127.0.0.1"
		}
		return (&tls.Dialer{Config: named}).DialContext(ctx, network, net.JoinHostPort(host, port))
	}
}

func tlsConfig() *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(must(os.ReadFile(said("CA")))) {
		panic("no certificate in " + said("CA"))
	}
	if said("CERTIFICATE") != "" {
		config.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(said("CERTIFICATE"), said("KEY")))}
	}
	return config
}

func mechanism() sasl.Mechanism {
	user, password := said("USERNAME"), said("PASSWORD")
	switch said("MECHANISM") {
	case "PLAIN":
		return saslplain.Auth{User: user, Pass: password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			found, err := token()
			return oauth.Auth{Token: found}, err
		})
	}
	panic("a mechanism that means nothing here: " + said("MECHANISM"))
}

// token is that of the file, or a new one from the endpoint.
func token() (string, error) {
	if said("TOKEN_FILE") != "" {
		content, err := os.ReadFile(said("TOKEN_FILE"))
		return strings.TrimSpace(string(content)), err
	}
	answer, err := http.PostForm(said("TOKEN_ENDPOINT"), url.Values{
		"grant_type": {"client_credentials"}, "client_id": {said("USERNAME")}, "client_secret": {said("PASSWORD")},
	})
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the token endpoint says %s", answer.Status)
	}
	found := struct {
		Token string `json:"access_token"`
	}{}
	err = json.NewDecoder(answer.Body).Decode(&found)
	return found.Token, err
}
