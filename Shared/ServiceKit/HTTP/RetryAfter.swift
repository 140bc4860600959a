package import Workouts

/// The value of a `Retry-After` header.
package enum RetryAfter: Hashable, Sendable {
    case seconds(Double)
    case date(Timestamp)

    /// Parses seconds or an HTTP date; `nil` for anything else.
    package init?(_ header: String) {
        if let seconds = UInt32(header) {
            self = .seconds(Double(seconds))
        } else if let date = Timestamp(httpDate: header) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// Seconds from `now`, at least 0.
    package func seconds(from now: Timestamp) -> Double {
        switch self {
        case .seconds(let seconds): seconds
        case .date(let date): max(0, date.seconds(since: now))
        }
    }
}

extension Timestamp {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses an HTTP date in RFC 9110's preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`.
    package init?(httpDate text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = UInt8(parts[1]), let year = UInt16(parts[3]),
            let month = Self.months.firstIndex(of: String(parts[2]))
        else { return nil }
        let digits = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        self.init(iso8601: "\(year)-\(digits(month + 1))-\(digits(Int(day)))T\(parts[4])Z")
    }
}
