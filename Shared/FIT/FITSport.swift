/// A sport in FIT's numbering. Unnamed numbers are preserved.
package struct FITSport: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let running = FITSport(rawValue: 1)
    package static let cycling = FITSport(rawValue: 2)
    package static let training = FITSport(rawValue: 10)
}

/// A sub-sport in FIT's numbering. Unnamed numbers are preserved.
package struct FITSubSport: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let generic = FITSubSport(rawValue: 0)
    package static let spin = FITSubSport(rawValue: 5)
    package static let trail = FITSubSport(rawValue: 3)
    package static let indoorCycling = FITSubSport(rawValue: 6)
    package static let elliptical = FITSubSport(rawValue: 15)
    package static let stairClimbing = FITSubSport(rawValue: 16)
    package static let strength = FITSubSport(rawValue: 20)
    package static let indoorRunning = FITSubSport(rawValue: 45)
    package static let virtual = FITSubSport(rawValue: 58)
}
