request, err := http.NewRequest("POST", "https://server.invalid/v1/qr/generate",
	strings.NewReader(`{"url":"https://example.com","size":256}`))
if err != nil {
	log.Fatal(err)
}
request.Header.Set("X-API-Key", os.Getenv("KEY"))
request.Header.Set("Content-Type", "application/json")
response, err := http.DefaultClient.Do(request)
if err != nil {
	log.Fatal(err)
}
defer response.Body.Close()
fmt.Println(response.Status)
file, err := os.Create("qr.out")
if err != nil {
	log.Fatal(err)
}
defer file.Close()
_, err = io.Copy(file, response.Body)
