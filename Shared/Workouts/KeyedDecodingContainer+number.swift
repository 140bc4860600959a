extension KeyedDecodingContainer {
    /// Decodes a field with numbers in it, and names it when one of them does not fit: Foundation calls the whole text no
    /// JSON then.
    package func number<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        do {
            return try decodeIfPresent(type, forKey: key)
        } catch let error as DecodingError {
            throw error
        } catch {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "out of range")
        }
    }

    /// Decodes a whole number, and names the field when it is none.
    package func wholeNumber(forKey key: Key) throws -> Int? {
        guard let number = try number(Double.self, forKey: key) else { return nil }
        guard let whole = Int(exactly: number) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not a whole number")
        }
        return whole
    }
}
