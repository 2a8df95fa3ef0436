func call(path string) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		request, err := http.NewRequest("GET", "https://server.invalid"+path, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("X-API-Key", os.Getenv("KEY"))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		// Without X-Gateway-Problem, the tool responded.
		isOwn := response.Header.Get("X-Gateway-Problem") != ""
		isTemporary := isOwn && (response.StatusCode == 429 || response.StatusCode == 503)
		if !isTemporary || attempt == 5 {
			return response, nil
		}
		response.Body.Close()
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil {
			seconds = 1 << attempt
		}
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}
