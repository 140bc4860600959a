extension XMLWriter.Value {
    /// What a format demands: 0 of none and of one that nobody can have measured.
    static func measured(_ value: Double?) -> Self { value.flatMap { decimal(max(0, $0)) } ?? .text("0") }

    /// Turns or strides a minute, as many as Garmin's formats hold.
    static func cadence(_ value: Double?) -> Self? { whole(value, in: 0...254) }
}
