"""NumPy's protocols, the exchange of arrays with other libraries, and the array API standard."""
