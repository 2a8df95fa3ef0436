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
		problem := response.Header.Get("X-Gateway-Problem")
		if problem == "" {
			return response, nil
		}
		isTemporary := response.StatusCode == 429 || response.StatusCode == 503
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil {
			seconds = 1 << attempt
		}
		// A used-up day ends in hours: the caller is told now.
		if !isTemporary || attempt == 5 || seconds > 61 {
			fmt.Println(response.StatusCode, problem)
			return response, nil
		}
		response.Body.Close()
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}
