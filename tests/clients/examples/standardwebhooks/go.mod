module github.com/standard-webhooks/standard-webhooks/libraries

go 1.22
