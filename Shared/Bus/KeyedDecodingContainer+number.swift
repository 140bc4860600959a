extension KeyedDecodingContainer {
    /// Decodes a field with numbers in it, and names it when one of them does not fit: Foundation calls the whole text no
    /// JSON then.
    func number<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        do {
            return try decodeIfPresent(type, forKey: key)
        } catch let error as DecodingError {
            throw error
        } catch {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "out of range")
        }
    }
}
